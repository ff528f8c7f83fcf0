import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fieldOf } from '../../service.ts'
import { Failure } from '../failure.ts'
import { replaceFile } from '../files.ts'

/* Remembers the span that `review next` last showed, so that a decision applies to exactly what the reviewer saw. */

interface Shown {
  url: string
  spanId: string
  /** Identifies the output and the review that were shown. */
  etag: string
}

const shownFile = (environment: NodeJS.ProcessEnv): string =>
  join(environment.XDG_STATE_HOME || join(environment.HOME || homedir(), '.local/state'), 'countersign', 'review.json')

/** Remembers the span that was shown. */
export const rememberShown = (environment: NodeJS.ProcessEnv, shown: Shown): Promise<void> =>
  replaceFile(shownFile(environment), `${JSON.stringify(shown)}\n`, { isPrivate: true })

/**
 * The span to decide on: the one that the user named, or else the last one shown. Its `etag` identifies what was shown.
 */
export async function spanToReview(
  environment: NodeJS.ProcessEnv,
  url: string,
  named: string | undefined,
): Promise<{ spanId: string; etag: string | undefined }> {
  const shown = await readShown(environment)
  const last = shown?.url === url ? shown : undefined
  if (named !== undefined) return { spanId: named, etag: last?.spanId === named ? last.etag : undefined }
  if (last) return last
  throw new Failure('usage', 'usage', 'Which span?', {
    hint: 'Run "countersign review next" first, or give a span ID.',
  })
}

async function readShown(environment: NodeJS.ProcessEnv): Promise<Shown | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(shownFile(environment), 'utf8'))
    const [url, spanId, etag] = [fieldOf(value, 'url'), fieldOf(value, 'spanId'), fieldOf(value, 'etag')]
    return typeof url === 'string' && typeof spanId === 'string' && typeof etag === 'string'
      ? { url, spanId, etag }
      : undefined
  } catch {
    // The file is missing or damaged. The user can still give a span ID.
    return undefined
  }
}
