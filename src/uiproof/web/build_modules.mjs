// Builds the ES modules that CDNs make of packages on the fly: node build.mjs OUT
//
// Runs beside a package.json and node_modules. Every dependency is named after its version, such as
// "react-18": "npm:react@18.3.1". Packages that pages share stay imports, written "uiproof:NAME/ENTRY".
import { readFileSync, mkdirSync, writeFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";

// Entries besides the package itself.
const ENTRIES = {
  react: ["jsx-runtime", "jsx-dev-runtime"],
  "react-dom": ["client"],
  "chart.js": ["auto"],
  preact: ["hooks", "compat", "jsx-runtime"],
  htm: ["preact", "preact/standalone", "react"],
  motion: ["react"],
  zustand: ["middleware"],
  gsap: ["ScrollTrigger", "ScrollToPlugin", "SplitText", "TextPlugin", "Draggable", "Flip"],
  "@heroicons/react": ["24/outline", "24/solid", "20/solid"],
  "react-icons": ["fa", "fi"],
  "solid-js": ["web", "html", "store"],
  swiper: ["bundle", "modules", "react"],
  three: [
    ...["controls/OrbitControls", "controls/PointerLockControls", "controls/TransformControls"],
    ...["loaders/GLTFLoader", "loaders/FontLoader", "geometries/TextGeometry"],
    ...["geometries/RoundedBoxGeometry", "environments/RoomEnvironment"],
    ...["postprocessing/EffectComposer", "postprocessing/RenderPass", "postprocessing/ShaderPass"],
    ...["postprocessing/UnrealBloomPass", "postprocessing/OutputPass", "renderers/CSS2DRenderer"],
  ].map((one) => `examples/jsm/${one}`),
};
// One instance of these for a whole page, whoever imports them.
const SHARED = new Set([
  ...["react", "react-dom", "preact", "vue", "three", "react-router-dom", "chart.js", "solid-js"],
]);

const DEFINES = {
  "process.env.NODE_ENV": '"production"',
  global: "globalThis",
  __VUE_OPTIONS_API__: "true",
  __VUE_PROD_DEVTOOLS__: "false",
  __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
};

const out = process.argv[2];
const require = createRequire(join(process.cwd(), "package.json"));
const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
mkdirSync(out, { recursive: true });

// Here `react` is called `react-18`: of the same major version as what asks for it.
const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  const [, name, entry] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(request) ?? [];
  const alias = `${name}-${current.major}`;
  return resolve.call(this, alias in dependencies ? alias + entry : request, ...rest);
};

/** Return the names that a CommonJS module exports; none where it is an ES module or fails. */
function namesOf(specifier) {
  try {
    const value = require(specifier);
    if (value === null || !["object", "function"].includes(typeof value)) return [];
    return Object.keys(value).filter((name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== "default");
  } catch {
    return [];
  }
}

const shared = {
  name: "shared",
  setup(plugin) {
    plugin.onResolve({ filter: /^uiproof:/ }, ({ path }) => ({ path, external: true }));
    plugin.onResolve({ filter: /^[^./]/ }, ({ path, kind, resolveDir }) => {
      const [, name, entry] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(path);
      if (SHARED.has(name)) {
        const address = `uiproof:${name}${(entry ?? "").replace(/\.js$/, "")}`;
        if (kind === "require-call") return { path: address, namespace: "shared" };
        return { path: address, external: true };
      }
      // A package that imports itself is known here under another name.
      if (name === current.name && name !== current.alias) {
        return plugin.resolve(current.alias + (entry ?? ""), { kind, resolveDir });
      }
      return undefined;
    });
    // CommonJS asks for shared packages with require(), which ES modules do not have.
    plugin.onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({
      contents: `import * as all from "${path}"; export * from "${path}";
        export default "default" in all ? all.default : all;`,
    }));
  },
};

let current = {};
const index = [];
for (const [alias, wanted] of Object.entries(dependencies).sort()) {
  if (!wanted.startsWith("npm:")) continue; // esbuild, and versions that others need
  const [, name, version] = /^npm:(.+)@([^@]+)$/.exec(wanted);
  current = { name, alias, major: version.split(".")[0] };
  for (const entry of ["", ...(ENTRIES[name] ?? [])]) {
    const file = entry.startsWith("examples/") ? `${entry}.js` : entry;
    const specifier = entry ? `${alias}/${file}` : alias;
    // Resolved as browsers' bundlers do; an ES module is passed on as it is.
    const names = namesOf(specifier);
    const options = {
      bundle: true,
      format: "esm",
      platform: "browser",
      target: "es2022",
      minify: true,
      keepNames: false,
      legalComments: "none",
      metafile: true,
      write: false,
      logLevel: "silent",
      define: DEFINES,
      plugins: [shared],
    };
    const make = (contents) =>
      build({ ...options, stdin: { contents, resolveDir: process.cwd(), sourcefile: "uiproof-entry.js" } });
    let made;
    try {
      made = await make(`export * from "${specifier}"; export { default } from "${specifier}";`);
    } catch {
      made = await make(`export * from "${specifier}";`); // has no default
    }
    const exported = () => Object.values(made.metafile.outputs)[0].exports;
    if (exported().filter((one) => one !== "default").length === 0 && names.length) {
      const constants = names.map((one) => `const __${one} = __value.${one};`).join("");
      const exports = names.map((one) => `__${one} as ${one}`).join(",");
      made = await make(
        `import __value from "${specifier}"; ${constants} export { ${exports}, __value as default };`,
      );
    }
    const written = `${index.length}.js`;
    writeFileSync(join(out, written), made.outputFiles[0].text);
    index.push({ package: `${name}@${version}`, entry, file: written, default: exported().includes("default") });
  }
}
writeFileSync(join(out, "index.json"), JSON.stringify(index));
