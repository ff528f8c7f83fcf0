/** A file's text. */
declare module '*.md?raw' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Vite exports it
  export default text
}
