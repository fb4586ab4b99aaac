// The page in a notebook, as anywidget has it: in a frame of its own, for its style and its policy
// are not the notebook's. Data come from the kernel, and so does the code of a candidate.
const STYLE = "width: 100%; height: 900px; border: 0; color-scheme: light dark";

export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.title = "schedsearch";
    frame.style.cssText = STYLE;
    frame.srcdoc = model.get("page");
    const tell = (told) => frame.contentWindow?.postMessage(told, "*");
    const show = () => tell({ page: model.get("data") });
    const hear = ({ source, data }) => {
      if (source !== frame.contentWindow) return;
      if (data.ready) show();
      if (data.candidate !== undefined) model.send({ candidate: data.candidate });
    };
    window.addEventListener("message", hear);
    model.on("change:data", show);
    model.on("msg:custom", tell);
    el.append(frame);
    return () => {
      window.removeEventListener("message", hear);
      model.off("change:data", show);
      model.off("msg:custom", tell);
    };
  },
};
