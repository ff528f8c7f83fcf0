import type { Convention } from '../reading/convention.ts'
import { ag2 } from './ag2.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { countersign } from './countersign.ts'
import { genAi } from './genai.ts'
import { genAiEvents } from './genai-events.ts'
import { genAiLegacy } from './genai-legacy.ts'
import { genAiRetrieval } from './genai-retrieval.ts'
import { genkit } from './genkit.ts'
import { laminar } from './laminar.ts'
import { langfuse } from './langfuse.ts'
import { langsmith } from './langsmith.ts'
import { litellm } from './litellm.ts'
import { logfire } from './logfire.ts'
import { mastra } from './mastra.ts'
import { mlflow } from './mlflow.ts'
import { openInference } from './openinference.ts'
import { plain } from './plain.ts'
import { traceIdentity } from './trace-identity.ts'
import { traceloop } from './traceloop.ts'
import { vercelAiSdk } from './vercel-ai-sdk.ts'

/**
 * All conventions, in order of priority for content: the first one that has a value for a field sets it. A span often
 * follows two conventions: its client's own and the one that its exporter translates to.
 */
export const CONVENTIONS: readonly Convention[] = [
  traceIdentity,
  countersign,
  langfuse,
  laminar,
  claudeCode,
  codex,
  // Before OpenTelemetry's, because a pydantic-ai run has its instructions in OpenTelemetry's attributes and its
  // messages in Logfire's.
  logfire,
  // Before OpenTelemetry's, because LangSmith sends run content under the oldest OpenTelemetry names.
  langsmith,
  // Before OpenTelemetry's: tool calls are only in Mastra's own attributes.
  mastra,
  litellm,
  ag2,
  genAi,
  vercelAiSdk,
  openInference,
  genAiEvents,
  traceloop,
  genAiLegacy,
  genAiRetrieval,
  mlflow,
  genkit,
  plain,
]

/** All conventions, with the given ones first. */
const before = (...conventions: Convention[]): readonly Convention[] => [
  ...conventions,
  ...CONVENTIONS.filter(convention => !conventions.includes(convention)),
]

/**
 * Priority for the kind. An operation's name may describe only a child or a part of the span, so conventions that
 * describe the whole span come first.
 */
export const BY_KIND = before(
  ag2,
  mastra,
  litellm,
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

/** Priority for the step id: conventions with the caller's own names come first. */
export const BY_STEP_ID = before(countersign, litellm, openInference, langsmith, mastra, genAi, vercelAiSdk, traceloop)

/** Priority for the model: conventions that report which model answered come first. */
export const BY_MODEL = before(genAi)
