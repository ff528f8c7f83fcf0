import type { Convention } from '../reading/convention.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { countersign } from './countersign.ts'
import { genAi } from './genai.ts'
import { genAiEvents } from './genai-events.ts'
import { genAiLegacy } from './genai-legacy.ts'
import { genAiRetrieval } from './genai-retrieval.ts'
import { laminar } from './laminar.ts'
import { langfuse } from './langfuse.ts'
import { langsmith } from './langsmith.ts'
import { logfire } from './logfire.ts'
import { openInference } from './openinference.ts'
import { plain } from './plain.ts'
import { traceIdentity } from './trace-identity.ts'
import { traceloop } from './traceloop.ts'
import { vercelAiSdk } from './vercel-ai-sdk.ts'

/**
 * All conventions, in the order in which they are asked for content; what several say, the first one says. A span often follows
 * two: a client's own, and one that its exporter translates into.
 */
export const CONVENTIONS: readonly Convention[] = [
  traceIdentity,
  countersign,
  langfuse,
  laminar,
  claudeCode,
  codex,
  // Before OpenTelemetry's: a run of pydantic-ai has its instructions there, and its messages here.
  logfire,
  // It has its runs' content under the oldest names of OpenTelemetry.
  langsmith,
  genAi,
  vercelAiSdk,
  openInference,
  genAiEvents,
  traceloop,
  genAiLegacy,
  genAiRetrieval,
  plain,
]

/** These first, then the others. */
const before = (...conventions: Convention[]): readonly Convention[] => [
  ...conventions,
  ...CONVENTIONS.filter(convention => !conventions.includes(convention)),
]

/** For the kind: an operation's name may be a child's, or a part's; who has a word for the whole span is asked first. */
export const BY_KIND = before(
  langfuse,
  openInference,
  langsmith,
  laminar,
  claudeCode,
  codex,
  genAi,
  genAiLegacy,
  traceloop,
  vercelAiSdk,
)

/** For the step's id: whoever knows the caller's own names is asked first. */
export const BY_STEP_ID = before(countersign, openInference, langsmith, genAi, vercelAiSdk, traceloop)

/** For the model: the one that answered. */
export const BY_MODEL = before(genAi)
