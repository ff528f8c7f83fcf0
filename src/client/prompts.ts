import { CountersignError } from './errors.ts'
import { REQUEST_MS } from './limits.ts'
import { parametersOf, projectOf, type Selector } from './parameters.ts'
import type { Service } from './service.ts'
import type { Prompt } from './wire.ts'

/** A step's prompt as a pipeline uses it. */
export interface ActivePrompt extends Prompt {
  /** Whether the service could not be asked: it may have another version by now. */
  isStale: boolean
}

interface Known {
  prompt: Prompt
  etag: string
  isStale: boolean
  /** Until when it is answered without asking. */
  freshUntil: number
}

/** Reads prompts, for pipelines that ask before every run. */
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
   * The prompt of a step with its active version, whose `versionId` a span names as its `promptVersionId`. It is answered
   * from memory while it is fresh (`promptFreshMs`), then asked for by its ETag; while the service fails, what was known
   * last is the answer. Throws a `CountersignError` where nothing was ever known, or where there is no such prompt.
   */
  async active(stepId: string): Promise<ActivePrompt> {
    const known = this.#known.get(stepId)
    if (!known) return answerOf(await this.#ask(stepId))
    if (Date.now() < known.freshUntil) return answerOf(known)
    // Whoever asks meanwhile is answered from memory, and does not wait for this request, which may be another one's.
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
      known?.etag ? { headers: { 'if-none-match': known.etag } } : {},
      // What is known will do: no second attempt is waited for.
      known && 1,
    )
    const prompt = status === 304 ? known?.prompt : body.prompts[0]
    if (!prompt) {
      this.#known.delete(stepId)
      throw new CountersignError(404, NO_PROMPT, `The project has no prompt for the step ${stepId}`)
    }
    const etag = headers?.get('etag') ?? ''
    const asked = { prompt, etag, isStale: false, freshUntil: Date.now() + this.#freshMs }
    this.#known.set(stepId, asked)
    return asked
  }
}

const NO_PROMPT = 'prompt_not_found'

/** A copy: what the pipeline does to it must not show in the next answer. */
const answerOf = ({ prompt, isStale }: Known): ActivePrompt => structuredClone({ ...prompt, isStale })
