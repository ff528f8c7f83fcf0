import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCases } from '../../bench/attribution/cases.ts'
import { calibrationError, type Judged, scoresOf } from '../../bench/attribution/scores.ts'
import { subjectOfCase } from '../../bench/attribution/subject-of-case.ts'
import { findEvidence } from '../../src/attribution/evidence/evidence.ts'
import { attributeByRules } from '../../src/attribution/rules/engine.ts'
import { findBuiltIn } from '../../src/attribution/taxonomy.ts'

const CASES = resolve(import.meta.dirname, '../../bench/attribution/cases')

/** The rules' answers to labeled cases, without a server. */
async function judge(split: string): Promise<Judged[]> {
  return (await readCases(resolve(CASES, `${split}.jsonl`))).map(labeled => {
    const subject = subjectOfCase(labeled)
    const { errorType, confidence, spanId } = attributeByRules(subject, findEvidence(subject), new Set())
    const step = subject.steps.find(each => each.spanId === spanId)
    const span = step && !step.isRoot ? step.stepId : null
    const category = findBuiltIn(errorType)?.category ?? ''
    return { labeled, answer: { errorType, category, confidence, span, engine: 'rules', durationMs: 0 } }
  })
}

// The minimums are slightly below the current scores, because a changed check may lose one case and win another.
describe('the rules score as well as before', () => {
  it.for([
    ['tuned', { category: 0.87, type: 0.82, span: 0.87 }],
    ['held-out', { category: 0.75, type: 0.62, span: 0.84 }],
  ] as const)('on the %s cases', async ([split, least]) => {
    const scores = scoresOf(await judge(split))
    for (const name of ['category', 'type', 'span'] as const)
      expect(scores[name].share).toBeGreaterThanOrEqual(least[name])
  })

  it('and their confidence is calibrated on cases outside the tuning set', async () => {
    expect(calibrationError(await judge('held-out'))).toBeLessThanOrEqual(0.1)
  })
})
