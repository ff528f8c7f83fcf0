import { CountersignError } from './errors.ts'
import { REQUEST_MS } from './limits.ts'
import { parametersOf, projectOf, type Selector } from './parameters.ts'
import type { Service } from './service.ts'
import type { Prompt } from './wire.ts'

/** A step's prompt as a pipeline uses it. */
export interface ActivePrompt extends Prompt {
  /** Whether the service didn't respond, so another version may be active by now. */
  isStale: boolean
}

interface Known {
  prompt: Prompt
  etag: string
  isStale: boolean
  /** The prompt is served without a request until this time, in milliseconds since 1970. */
  freshUntil: number
}

/** Reads prompts for pipelines that need one before every run. */
export class Prompts {
  readonly #service: Service
  readonly #project: Selector
  readonly #freshMs: number
  readonly #known = new Map<string, Known>()

  /** @internal */
  constructor(service: Service, project: Selector, freshMs: number) {
    this.#service = service
    this.#project = project
    this.#freshMs = freshMs
  }

  /**
   * A step's prompt with its active version, whose `versionId` becomes a span's `promptVersionId`. The prompt comes
   * from memory while it's fresh (`promptFreshMs`), then from a request with its ETag. While the service is failing,
   * the result is the last known prompt. Throws a `CountersignError` if no prompt is known, or if the step has none.
   */
  async active(stepId: string): Promise<ActivePrompt> {
    const known = this.#known.get(stepId)
    if (!known) return answerOf(await this.#ask(stepId))
    if (Date.now() < known.freshUntil) return answerOf(known)
    // Calls made in the meantime are served from memory and don't wait: in a Worker, this fetch may belong to another
    // request.
    known.freshUntil = Date.now() + REQUEST_MS
    try {
      return answerOf(await this.#ask(stepId, known))
    } catch (error) {
      if (error instanceof CountersignError && error.code === NO_PROMPT) throw error
      known.isStale = true
      known.freshUntil = Date.now() + this.#freshMs
      return answerOf(known)
    }
  }

  async #ask(stepId: string, known?: Known): Promise<Known> {
    const { status, body, headers } = await this.#service.read<{ prompts: Prompt[] }>(
      `/api/prompts?${parametersOf({ ...projectOf(this.#project), stepId })}`,
      'prompts',
      // A bookmark would bypass the service's memory, which makes this request fast enough before every run.
      { mayLag: true, ...(known?.etag && { headers: { 'if-none-match': known.etag } }) },
      // The known prompt is good enough: don't wait for a second attempt.
      known && 1,
    )
    const prompt = status === 304 ? known?.prompt : body.prompts[0]
    if (!prompt) {
      this.#known.delete(stepId)
      throw new CountersignError(404, NO_PROMPT, `The project has no prompt for the step ${stepId}`)
    }
    const etag = headers?.get('etag') ?? ''
    const fetched = { prompt, etag, isStale: false, freshUntil: Date.now() + this.#freshMs }
    this.#known.set(stepId, fetched)
    return fetched
  }
}

const NO_PROMPT = 'prompt_not_found'

/** Copies a prompt, so that the pipeline's changes don't show up in the next result. */
const answerOf = ({ prompt, isStale }: Known): ActivePrompt => structuredClone({ ...prompt, isStale })
