import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'

interface Draft {
  file: string
  text: string
  /** Deletes the file. */
  discard(): Promise<void>
}

/** Opens a value in the user's editor. Throws a `Failure` if the editor fails. */
export async function edit(
  { environment }: Pick<Context, 'environment'>,
  value: string,
  isText: boolean,
): Promise<Draft> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-'))
  const file = join(folder, isText ? 'output.txt' : 'output.json')
  await writeFile(file, value, { mode: 0o600 })
  const editor = environment.VISUAL || environment.EDITOR || 'vi'
  // The setting may include arguments, as in `code --wait`, so a shell parses it. The file's name is passed separately.
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env: environment })
  const [code] = await once(child, 'close')
  if (code !== 0) {
    await rm(folder, { recursive: true, force: true })
    throw new Failure('usage', 'editor_failed', `The editor (${editor}) exited with code ${code}, so nothing was saved`)
  }
  return {
    file,
    text: await readFile(file, 'utf8'),
    discard: () => rm(dirname(file), { recursive: true, force: true }),
  }
}
