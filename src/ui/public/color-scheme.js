// Before the first paint, so that a page does not flash in the other scheme. A file of its own: the CSP allows no script in a page.
const chosen = localStorage.getItem('mantine-color-scheme-value')
const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
