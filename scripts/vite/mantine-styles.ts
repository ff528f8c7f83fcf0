import type { Plugin } from 'vite'

const STYLED = /\/@mantine\/core\/esm\/.*\/(\w+)\.module\.mjs$/

/** The styles of elements, and of components that others extend. */
const BASE =
  /\/@mantine\/core\/styles\/(?:baseline|global|UnstyledButton|Paper|Popover|Input|InlineInput|ModalBase)\.layer\.css/

/**
 * Loads the styles of each Mantine component together with its script, so that a page loads only the styles that it
 * needs. Mantine's styles are in a CSS layer, so the app's own styles override them no matter which load first. For the
 * same reason, the styles that other components extend are in a nested layer: a document's own styles are at its end,
 * so they come after the styles of pages that are loaded into it later.
 */
export const mantineStyles = (): Plugin => ({
  name: 'mantine-styles',
  // Runs before Vite compiles the styles.
  enforce: 'pre',
  transform: {
    filter: { id: [STYLED, BASE] },
    handler(code, id) {
      if (BASE.test(id)) return { code: code.replace('@layer mantine {', '@layer mantine.base {'), map: null }
      const component = STYLED.exec(id)?.[1]
      return { code: `import '@mantine/core/styles/${component}.layer.css'\n${code}`, map: null }
    },
  },
})
