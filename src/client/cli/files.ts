import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces a file in one step, or deletes it if there's no text. Nobody ever sees a half-written file. */
export async function replaceFile(
  file: string,
  text: string | undefined,
  { isPrivate = false }: { isPrivate?: boolean } = {},
): Promise<void> {
  if (text === undefined) {
    await rm(file, { force: true })
    return
  }
  await mkdir(dirname(file), { recursive: true, ...(isPrivate && { mode: 0o700 }) })
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, text, { flag: 'wx', mode: isPrivate ? 0o600 : 0o666 })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
