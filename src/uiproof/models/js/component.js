// Compiles the component of a page and mounts it: React by Babel, Vue by Babel and Vue's own
// template compiler. Packages are the globals of their UMD builds, or modules of a CDN; what cannot
// be had is replaced by plain elements, so that the rest of the page is seen.
(async () => {
  const given = JSON.parse(document.getElementById("component-source").textContent);
  const root = document.getElementById("root");
  const tags = {
    Button: "button",
    Input: "input",
    Textarea: "textarea",
    Label: "label",
    Badge: "span",
    Link: "a",
    NavLink: "a",
    Table: "table",
  };
  const plain = ["className", "class", "style", "id", "href", "type", "value", "placeholder", "onClick"];

  const reactStub = (name) => (props) => {
    const own = Object.fromEntries(plain.filter((key) => key in (props ?? {})).map((key) => [key, props[key]]));
    const tag = tags[name] ?? "div";
    return React.createElement(tag, own, tag === "input" ? undefined : props?.children);
  };
  const vueStub = (name) => ({
    render() {
      return Vue.h(tags[name] ?? "div", this.$attrs, this.$slots.default?.());
    },
  });
  const stub = (path) => {
    if (/\.(css|scss|sass|less)$/.test(path)) return {};
    if (/\.(png|jpe?g|gif|svg|webp|avif)$/.test(path)) return { __esModule: true, default: path };
    const make = given.kind === "vue" ? vueStub : reactStub;
    return new Proxy(
      { __esModule: true, default: make(path.split("/").pop()) },
      { get: (own, name) => (name in own || typeof name !== "string" ? own[name] : (own[name] = make(name))) },
    );
  };

  const modules = {};
  await Promise.all(
    given.modules.map(async (name) => {
      try {
        modules[name] = { __esModule: true, ...(await import(`https://esm.sh/${name}?external=react,react-dom,vue`)) };
      } catch {
        modules[name] = stub(name);
      }
    }),
  );
  const require = (name) => {
    const global = given.globals[name];
    if (global && globalThis[global]) return globalThis[global];
    return (modules[name] ??= stub(name));
  };

  const typed = ["typescript", { allExtensions: true, isTSX: given.kind !== "vue", onlyRemoveTypeImports: true }];
  const compile = (code, presets, plugins = ["transform-modules-commonjs"]) =>
    Babel.transform(code, { filename: "component.tsx", presets, plugins, sourceType: "module" }).code;
  const run = (code, scope = {}) => {
    const module = { exports: {} };
    const names = Object.keys(scope);
    new Function("require", "module", "exports", ...names, code)(
      require,
      module,
      module.exports,
      ...names.map((name) => scope[name]),
    );
    return module.exports;
  };

  if (given.kind === "react") {
    const code = given.last ? `${given.code}\n;export const __last = ${given.last};` : given.code;
    const found = run(compile(code, [["react", { runtime: "classic" }], typed]));
    if (given.mounts) return;
    const component = found.default ?? found.__last;
    const made = React.isValidElement(component) ? component : React.createElement(component);
    ReactDOM.flushSync(() => ReactDOM.createRoot(root).render(made));
    return;
  }

  const component = given.script ? { ...run(compile(given.script, [typed])).default } : {};
  let app;
  if (given.setup) {
    const names = [];
    const collect = () => ({ visitor: { Program: (path) => void names.push(...Object.keys(path.scope.bindings)) } });
    const code = compile(given.setup, [typed], []);
    compile(code, [], [collect]);
    const body = compile(`${code}\n;__expose({${names.join(",")}});`, []);
    component.setup = (props, { emit }) => {
      let bindings = {};
      run(body, {
        defineProps: () => props,
        defineEmits: () => emit,
        defineExpose: () => undefined,
        defineOptions: () => undefined,
        defineSlots: () => ({}),
        defineModel: () => Vue.ref(),
        withDefaults: (own, defaults) => ({ ...defaults, ...own }),
        __expose: (found) => (bindings = found),
      });
      for (const [name, value] of Object.entries(bindings))
        if (/^[A-Z]/.test(name) && value && typeof value === "object") app.component(name, value);
      return bindings;
    };
  }
  if (given.template) component.template = given.template;
  app = Vue.createApp(component);
  app.mount(root);
})();
