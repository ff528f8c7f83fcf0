import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { answer } from '../../src/app.ts'
import type { Env } from '../../src/env.ts'
import type { Org } from './org.ts'

interface Line {
  id: string
  [field: string]: unknown
}

/** The items in a JSONL file. Throws if the file's last line is wrong. */
export function itemsIn(text: string): Line[] {
  const lines: Line[] = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  const end = lines.pop()
  if (end?.end !== true || end.items !== lines.length) throw new Error("the file's last line is wrong")
  return lines
}

/** The contents of all files in an export. The path may contain a cursor for the first file. */
export async function allFiles(org: Org, path: string): Promise<string[]> {
  const files: string[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, headers, body } = await org.read.get(next)
    if (status !== 200) throw new Error(`the export returned ${status}: ${body.error}`)
    files.push(body)
    const cursor: string | null = headers.get('x-next-cursor')
    next = cursor === null ? undefined : `${path.replace(/&cursor=.*/, '')}&cursor=${cursor}`
  }
  return files
}

/** A response with a body that the client hasn't read yet. */
export const streamOf = (org: Org, path: string, bindings: Env = env): Promise<Response> =>
  answer(
    new Request(`https://countersign.test${path}`, { headers: { authorization: `Bearer ${org.projectKey}` } }),
    bindings,
    createExecutionContext(),
  )
