import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["collsim/viz/bundles/", "docs/assets/", "**/*.d.ts", "build/", ".venv/", "notebooks/"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2025, sourceType: "module", globals: { ...globals.browser, ...globals.es2024 } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      // one letter is left to coordinates, moments, indices, and the two values that a comparison takes
      "id-length": ["error", { min: 2, properties: "never", exceptions: [..."xywhtsijkqnabcefprvlz_"] }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "max-lines-per-function": ["error", { max: 60 }],
      "no-nested-ternary": "error",
      "no-var": "error",
      "no-unused-vars": ["error", { args: "after-used" }],
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
    },
  },
  {
    files: ["tests/js/**", "scripts/**", "eslint.config.js"],
    languageOptions: { globals: globals.node },
    rules: { "max-lines-per-function": "off" },
  },
];
