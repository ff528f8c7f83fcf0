import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

/** The only accent color. Green, amber, and red show decisions. */
const accent: MantineColorsTuple = [
  '#eef3ff',
  '#dce5fb',
  '#b6c8f3',
  '#8da9ec',
  '#6b8ee6',
  '#557de3',
  '#4974e2',
  '#3a63c9',
  '#3158b4',
  '#234b9f',
]

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 7 },
  colors: { accent },
  fontFamily: 'system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  defaultRadius: 'sm',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.25rem' }, h2: { fontSize: '1rem' }, h3: { fontSize: '0.875rem' } },
  },
  cursorType: 'pointer',
  components: {
    // Mantine's own gray is too faint to read, and its close button has no name.
    Notification: {
      styles: { description: { color: 'var(--quiet)' } },
      defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss notification' } },
    },
    // Otherwise, Mantine would first focus an element that isn't a menu item, which a menu must not contain.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
})

const shared = {
  '--mantine-color-body': 'var(--page)',
  '--mantine-color-text': 'var(--text)',
  '--mantine-color-dimmed': 'var(--quiet)',
  '--mantine-color-placeholder': 'var(--quiet)',
  '--mantine-color-default-border': 'var(--line)',
  '--mantine-color-anchor': 'var(--accent)',
  '--mantine-color-error': 'var(--negative)',
}

/** Maps Mantine's variables to ours, which pages without Mantine also use. */
export const cssVariablesResolver: CSSVariablesResolver = () => ({ variables: {}, light: shared, dark: shared })
