import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { it } from 'vitest'
import { PROJECT } from './server.ts'

/** The anchors of a page: its headings as GitHub names them, and each `<a name="...">`. */
function anchorsOf(markdown: string): Set<string> {
  const text = markdown.replace(/^```.*?^```/gms, '')
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\- ]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([...headings, ...[...text.matchAll(/<a name="([^"]+)">/g)].map(([, name = '']) => name)])
}

/** The targets of a page's links, except for external URLs. */
const targetsOf = (markdown: string): string[] =>
  [...markdown.replace(/^```.*?^```/gms, '').matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)]
    .map(([, link, attribute]) => link ?? attribute ?? '')
    .filter(target => !/^[a-z]+:/.test(target))

it('no page in the repository has a dead link', async ({ expect }) => {
  const { stdout } = await promisify(execFile)('git', ['ls-files', '*.md'], { cwd: PROJECT })
  const dead: string[] = []
  for (const page of stdout.split('\n').filter(Boolean)) {
    const markdown = await readFile(join(PROJECT, page), 'utf8')
    for (const target of targetsOf(markdown)) {
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? join(PROJECT, page) : join(PROJECT, dirname(page), path)
      const isThere = existsSync(file)
      const isNamed = isThere && (!anchor || anchorsOf(await readFile(file, 'utf8')).has(anchor))
      if (!isNamed) dead.push(`${page}: ${target} (${relative(PROJECT, file)})`)
    }
  }
  expect(dead).toEqual([])
})

it('the pages that error messages refer to exist', async ({ expect }) => {
  const source = await readFile(join(PROJECT, 'src/native-protocols.ts'), 'utf8')
  const pages = [...source.matchAll(/docs\/[\w/-]+\.md/g)].map(([page]) => page)
  expect(pages.length).toBeGreaterThan(3)
  expect(pages.filter(page => !existsSync(join(PROJECT, page)))).toEqual([])
})
