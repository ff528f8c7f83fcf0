import { startModelServer } from '../scripts/model-server.ts'
import type { Reply } from '../support/model-wire.ts'
import { useOwnServer } from './server.ts'

/** What a model replies when asked for the root cause of a trace in the sample project. */
export const ROOT_CAUSE: Reply = {
  when: 'root cause of a disagreement',
  answer: {
    quotes: [],
    reasoning: 'It is unclear.',
    error_type: 'reasoning_error',
    confidence: 0.4,
    span_id: null,
    alternatives: [],
  },
}

/** A model that the tests in one file use, with a server that's configured for it. */
export interface OwnModel {
  replyWith: (replies: readonly Reply[]) => Promise<unknown>
  /** Switches back to the shared server. */
  close: () => Promise<void>
}

/** Starts a model `openai/<name>` with these replies, and a server for it with these variables. */
export async function useOwnModel(
  name: string,
  replies: readonly Reply[],
  variables: Readonly<Record<string, string>> = {},
): Promise<OwnModel> {
  const model = await startModelServer()
  const replyWith: OwnModel['replyWith'] = replies =>
    fetch(`${model.url}/${name}/replies`, { method: 'PUT', body: JSON.stringify(replies) })
  await replyWith(replies)
  const leave = await useOwnServer({
    ATTRIBUTION_MODEL: `openai/${name}`,
    ATTRIBUTION_BASE_URL: `${model.url}/${name}/v1`,
    ATTRIBUTION_API_KEY: 'sk-test',
    ...variables,
  })
  return {
    replyWith,
    close: async () => {
      await leave()
      model.close()
    },
  }
}
