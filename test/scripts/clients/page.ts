import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PROJECT } from '../server.ts'

/** The instructions on a page in docs/sdks. */
export interface Page {
  /** The `export` lines, as a reader would paste them into a shell. */
  exports: string
  /** The packages in the `npm install` lines, as `name@version`. */
  packages: string[]
  /** The packages in the `pip install` lines, without extras and versions. */
  pythonPackages: string[]
  /** The programs by file name. A comment in a program's first line gives its name. */
  programs: Map<string, string>
}

export async function readPage(name: string): Promise<Page> {
  const text = await readFile(join(PROJECT, `docs/sdks/${name}.md`), 'utf8')
  const shell = blocksOf(text, 'sh').join('\n').replaceAll('\\\n', ' ').split('\n')
  const programs = [...blocksOf(text, 'js'), ...blocksOf(text, 'python')].flatMap(block => {
    const file = /^(?:\/\/|#) (\S+\.(?:mjs|py))\n/.exec(block)?.[1]
    return file ? [[file, block] as const] : []
  })
  const installed = (command: string) =>
    shell.filter(line => line.startsWith(`${command} `)).flatMap(line => line.slice(command.length + 1).split(/\s+/))
  return {
    exports: shell.filter(line => line.startsWith('export ')).join('\n'),
    packages: installed('npm install'),
    pythonPackages: installed('pip install').map(name => name.replace(/^'|'$/g, '').replace(/[[<=].*/, '')),
    programs: new Map(programs),
  }
}

/** The code blocks on a page that are in a given language. */
export const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, block = '']) => block)
