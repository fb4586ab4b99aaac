// Bundles src/ into the package, with the licences of what is in it, and notes what it was built
// from: tests/present/test_page_bundle.py says when the bundle is behind.
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const OUT = "../schedsearch/present/web";

const result = await build({
  entryPoints: { page: "src/main.tsx" },
  outdir: OUT,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  metafile: true,
});

const packages = new Set();
for (const path of Object.keys(result.metafile.inputs)) {
  const found = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/);
  if (found) packages.add(found[1]);
}

function licence(name) {
  const folder = `node_modules/${name}`;
  const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text = file ? readFileSync(`${folder}/${file}`, "utf8").trim() : "";
  const author = about.author?.name ?? about.author ?? "";
  return `${name} ${about.version} (${about.license}) ${author}`.trim() + `\n\n${text}`.trimEnd() + "\n";
}

const rule = "\n" + "-".repeat(80) + "\n\n";
writeFileSync(`${OUT}/LICENSES.txt`, [...packages].sort().map(licence).join(rule));

copyFileSync("src/frame.js", `${OUT}/frame.js`);

// Tests look with it at the page, on machines without npm.
copyFileSync("node_modules/axe-core/axe.min.js", "../tests/present/axe.min.js");

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const sources = [
  ...readdirSync("src").map((name) => `src/${name}`),
  "build.mjs",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
].sort();
const made = ["page.js", "page.css", "frame.js", "LICENSES.txt"];
const digests = (folder, names) =>
  Object.fromEntries(names.map((name) => [name, sha256(readFileSync(`${folder}/${name}`))]));
const built = { sources: digests(".", sources), made: digests(OUT, made) };
writeFileSync(`${OUT}/built.json`, JSON.stringify(built, null, 1) + "\n");
