/**
 * Writes the declarations of `countersign/client` next to its code: one for each module that the entry imports,
 * directly or indirectly. The wire types, which are derived from the Worker's schemas, are written out in full, so the
 * package needs no types from other packages.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

const PROJECT = resolve(import.meta.dirname, '..')
const SOURCE = join(PROJECT, 'src/client')
const TARGET = join(SOURCE, 'dist/client')
/** The folder for temporary files. It's outside `src`, because other tools may be listing the files there. */
const SCRATCH = join(PROJECT, 'dist')
const WIRE = 'wire.ts'

mkdirSync(TARGET, { recursive: true })
mkdirSync(SCRATCH, { recursive: true })
const workspace = mkdtempSync(join(SCRATCH, 'client-declarations-'))
try {
  writeFileSync(join(workspace, WIRE), inferredWireTypes())
  compile()
  const wire = expandedWireTypes()
  for (const module of modulesReachedFrom('index.ts')) {
    const text = module === WIRE ? wire : declarationsOf(module)
    writeFileSync(join(TARGET, module.replace('.ts', '.d.ts')), text.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
  }
} finally {
  rmSync(workspace, { recursive: true })
}

/**
 * A module with a constant for each wire type. In declarations, the compiler expands inferred types but keeps named
 * ones.
 */
function inferredWireTypes(): string {
  const path = relative(workspace, join(SOURCE, WIRE))
  return [
    `import type * as wire from '${path}'`,
    'type WrittenOut<T> = T extends readonly (infer Item)[] ? WrittenOut<Item>[]',
    '  : T extends object ? { [Field in keyof T]: WrittenOut<T[Field]> } : T',
    'declare const writtenOut: <T>() => WrittenOut<T>',
    ...wireTypes().map(({ name }) => `export const ${name} = writtenOut<wire.${name}>()`),
  ].join('\n')
}

/** The types that the wire module exports, with their comments. */
function wireTypes(): { name: string; comment: string }[] {
  const source = readFileSync(join(SOURCE, WIRE), 'utf8')
  return [...source.matchAll(/(\/\*\* [^\n]+ \*\/)\nexport type (\w+) =/g)].map(([, comment = '', name = '']) => ({
    name,
    comment,
  }))
}

function compile(): void {
  const options = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      stripInternal: true,
      rootDir: PROJECT,
      outDir: join(workspace, 'out'),
    },
    include: [],
    // The wire types' schemas import parts of the Worker that need the declarations of its platform.
    files: [
      join(workspace, WIRE),
      join(SOURCE, 'index.ts'),
      ...['crypto', 'zlib'].map(name => join(PROJECT, `src/node-${name}.d.ts`)),
    ],
  }
  writeFileSync(join(workspace, 'tsconfig.json'), JSON.stringify(options))
  const { status } = spawnSync('tsc', ['-p', workspace], { stdio: 'inherit' })
  if (status !== 0) throw new Error("The client's declarations couldn't be compiled")
}

function expandedWireTypes(): string {
  const compiled = readFileSync(join(workspace, 'out', relative(PROJECT, workspace), 'wire.d.ts'), 'utf8')
  return wireTypes().reduce(
    (text, { name, comment }) => text.replace(`export declare const ${name}:`, `${comment}\nexport type ${name} =`),
    compiled,
  )
}

function declarationsOf(module: string): string {
  return readFileSync(join(workspace, 'out/src/client', module.replace('.ts', '.d.ts')), 'utf8')
}

/** A module and the modules that its declarations import, directly or indirectly. */
function modulesReachedFrom(entry: string): string[] {
  const reached = [entry]
  for (const module of reached) {
    if (module === WIRE) continue
    for (const [, imported = ''] of declarationsOf(module).matchAll(/from '\.\/([\w-]+\.ts)'/g)) {
      if (!reached.includes(imported)) reached.push(imported)
    }
  }
  return reached
}
