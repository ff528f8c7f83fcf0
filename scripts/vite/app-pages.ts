import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Plugin, type Rolldown, runnerImport } from 'vite'

const UI = resolve(import.meta.dirname, '../../src/ui')
const INDEX = 'index.html'
/** Matches a page's path and its module in page-routes.ts. */
const ROUTE = /'(\/[^']*)': \(\) => import\('\.\/([^']+)'\)/g
/** What src/ui/shell/static-frame.tsx exports. */
interface StaticFrame {
  frameMarkup: (path: string) => string
}

const LINK = /\n\s*<link rel="(?:modulepreload|stylesheet)"[^>]*>/g

/**
 * Writes a document for each page of the app. It contains the app's frame, which appears before anything else loads,
 * and links to all files that the page needs, so that these files load in parallel.
 *
 * The document for `/` is index.html. The other documents are in `pages`, where the Worker finds them
 * (src/app-page.ts): `/traces/:traceId` is `pages/traces/id.html`. `pages/app.html` is for all other paths, and
 * `pages/sign-in.html` has no frame.
 */
export const appPages = (): Plugin => ({
  name: 'app-pages',
  apply: 'build',
  enforce: 'post',
  async generateBundle(_options, bundle) {
    const index = bundle[INDEX]
    if (index?.type !== 'asset') throw new Error(`${INDEX} is missing from the build`)
    const template = String(index.source).replaceAll(LINK, '')
    const { module } = await runnerImport<StaticFrame>(`${UI}/shell/static-frame.tsx`, { configFile: false })
    const style = await inlineStyle()
    const document = (modules: readonly string[], content: string) => {
      const { scripts, styles } = filesOf(bundle, [INDEX, ...modules])
      const preloads = scripts.map(file => `<link rel="modulepreload" crossorigin href="/${file}">`)
      // The stylesheets come after the frame, so that the frame doesn't wait for them.
      const stylesheets = styles.map(file => `<link rel="stylesheet" crossorigin href="/${file}">`)
      return template
        .replace('</head>', () => `${style}\n${preloads.join('\n')}\n</head>`)
        .replace('<div id="app"></div>', () => `<div id="app">${content}</div>\n${stylesheets.join('\n')}`)
    }
    const routes = [...(await readFile(`${UI}/page-routes.ts`, 'utf8')).matchAll(ROUTE)]
    if (routes.length === 0) throw new Error('page-routes.ts lists no pages')
    for (const [, path = '', file = ''] of routes) {
      const source = document([file], module.frameMarkup(path))
      if (path === '/') index.source = source
      else this.emitFile({ type: 'asset', fileName: fileNameOf(path), source })
    }
    this.emitFile({ type: 'asset', fileName: 'pages/app.html', source: document([], module.frameMarkup('/app')) })
    const signIn = document(['session/sign-in.tsx'], '')
    this.emitFile({ type: 'asset', fileName: 'pages/sign-in.html', source: signIn })
  },
})

const fileNameOf = (path: string): string => `pages${path.replace(/\/:\w+\?$/, '').replaceAll(/:\w+/g, 'id')}.html`

/**
 * The scripts and styles that modules need, including static imports but not modules that they `import()` on demand.
 */
function filesOf(bundle: Rolldown.OutputBundle, modules: readonly string[]) {
  const chunks = Object.values(bundle).filter(file => file.type === 'chunk')
  const scripts = new Set<string>()
  const styles = new Set<string>()
  const add = (chunk: Rolldown.OutputChunk | undefined, name: string): void => {
    if (!chunk) throw new Error(`no chunk for ${name}`)
    if (scripts.has(chunk.fileName)) return
    scripts.add(chunk.fileName)
    for (const imported of chunk.imports) {
      add(
        chunks.find(({ fileName }) => fileName === imported),
        imported,
      )
    }
    // An imported module's styles come first, so that the styles of the module that imports it override them.
    for (const file of chunk.viteMetadata?.importedCss ?? []) styles.add(file)
  }
  for (const module of modules) {
    add(
      chunks.find(({ facadeModuleId }) => facadeModuleId === resolve(UI, module)),
      module,
    )
  }
  return { scripts: [...scripts], styles: [...styles] }
}

/** The styles of the frame, without comments or line breaks. */
async function inlineStyle(): Promise<string> {
  const files = ['colors.css', 'shell/frame.css'].map(file => readFile(resolve(UI, file), 'utf8'))
  const css = (await Promise.all(files))
    .join('')
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
  return `<style>${css}</style>`
}
