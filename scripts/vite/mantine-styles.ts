import type { Plugin } from 'vite'

const STYLED = /\/@mantine\/core\/esm\/.*\/(\w+)\.module\.mjs$/

/**
 * Loads the styles of each Mantine component together with its script, so that a page loads only the styles that it needs.
 * They're in a CSS layer, so the app's own styles override them in whichever order the two load.
 */
export const mantineStyles = (): Plugin => ({
  name: 'mantine-styles',
  transform: {
    filter: { id: STYLED },
    handler(code, id) {
      const component = STYLED.exec(id)?.[1]
      return { code: `import '@mantine/core/styles/${component}.layer.css'\n${code}`, map: null }
    },
  },
})
