import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCases } from '../../bench/attribution/cases.ts'
import { subjectOfCase } from '../../bench/attribution/subject-of-case.ts'
import { findEvidence } from '../../src/attribution/evidence/evidence.ts'
import { writeQuestion } from '../../src/attribution/model/question.ts'
import { attributeByRules } from '../../src/attribution/rules/engine.ts'
import { TAXONOMY } from '../../src/attribution/taxonomy.ts'
import { QUESTION_VERSION, RULES_VERSION } from '../../src/attribution/versions.ts'
import { atOnce } from '../../src/domain/turns.ts'
import { MEASURED } from '../../src/ui/attribution/measured.ts'

/** A short hash of what an engine does with each of our own cases. */
async function checksum(work: (subject: ReturnType<typeof subjectOfCase>) => unknown): Promise<string> {
  const hash = createHash('sha256')
  for (const split of ['tuned', 'calibration']) {
    const cases = await readCases(resolve(import.meta.dirname, `../../bench/attribution/cases/${split}.jsonl`))
    for (const labeled of cases) hash.update(JSON.stringify(work(subjectOfCase(labeled))))
  }
  return hash.digest('hex').slice(0, 16)
}

const PROJECT_TYPES = TAXONOMY.map(type => ({ ...type, id: type.errorType }))

// If one of these tests fails, the engine's answers have changed. Raise the version and record the new checksum.
// Otherwise, the new answers would count toward the record of the old version.
describe('an engine that answers differently has a new version', () => {
  it('for the answers of the rules', async () => {
    const answers = await checksum(subject => {
      const { errorType, confidence, spanId } = attributeByRules(subject, findEvidence(subject), new Set())
      return { errorType, confidence, step: subject.steps.findIndex(step => step.spanId === spanId) }
    })
    expect([RULES_VERSION, answers]).toEqual(['4', '0f59704042092a6a'])
  })

  it('with which the accuracy in the app was measured', () => {
    expect(MEASURED.version).toBe(RULES_VERSION)
  })

  it('for the question to a model', async () => {
    const questions = await checksum(subject => atOnce(writeQuestion(subject, [], PROJECT_TYPES, 'boundary')))
    expect([QUESTION_VERSION, questions]).toEqual(['3', '7230f53bc8f573a8'])
  })
})
