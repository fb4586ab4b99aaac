import { createRoot } from "react-dom/client";
import { App } from "./app";
import "./page.css";

createRoot(document.getElementById("page")!).render(<App />);
