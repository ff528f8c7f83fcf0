import { describe, expect, it } from 'vitest'
import { findEvidence } from '../../src/attribution/evidence/evidence.ts'
import { attributeByRules, distributionOver } from '../../src/attribution/rules/engine.ts'
import { TAXONOMY, TIE_ORDER } from '../../src/attribution/taxonomy.ts'
import { FACTS, FITTED, LOCATING } from '../../src/attribution/weights.ts'
import { aDisagreement, aPrompt, type SubjectDraft } from '../support/disputed.ts'

const NONE: ReadonlySet<string> = new Set()

function answerTo(draft: SubjectDraft, disabled = NONE) {
  const subject = aDisagreement(draft)
  return attributeByRules(subject, findEvidence(subject), disabled)
}

const invented: SubjectDraft = {
  root: { input: { message: 'How can I reach a human?' } },
  steps: {
    retrieve: {
      input: { q: 'contact' },
      output: [{ slug: 'contact', text: 'Write to care@lumen.example or use the chat.' }],
    },
    answer: {
      output: 'Write to care@lumen.example, use the chat or call 0800 555 0142.',
      approved: 'Write to care@lumen.example or use the chat.',
    },
  },
  docs: { contact: 'Write to care@lumen.example or use the chat.' },
}

describe('the rules', () => {
  it('name the type, the step, and the evidence', () => {
    const answer = answerTo(invented)
    expect(answer).toMatchObject({ errorType: 'hallucinated_content', spanId: 'answer', engine: 'rules' })
    expect(answer.evidence[0]).toMatchObject({ spanId: 'answer', path: 'output' })
    expect(answer.evidence[0]?.note).toContain('0800')
    expect(answer.reasoning).toContain('utput of step "answer"')
    expect(answer.reasoning).toContain('"Hallucinated content"')
  })

  it('give two alternatives, with confidences that sum to at most 1', () => {
    const { errorType, confidence, alternatives } = answerTo(invented)
    const [second, third] = alternatives
    expect(alternatives).toHaveLength(2)
    expect(new Set([errorType, second?.errorType, third?.errorType]).size).toBe(3)
    expect(confidence).toBeGreaterThanOrEqual(second?.confidence ?? 1)
    expect(second?.confidence).toBeGreaterThanOrEqual(third?.confidence ?? 1)
    expect(confidence + (second?.confidence ?? 0) + (third?.confidence ?? 0)).toBeLessThanOrEqual(1.001)
  })

  it('write two to four sentences', () => {
    const texts = [invented, { root: { output: 'x', approved: 'y' } }, { feedback: [{ rating: 'negative' as const }] }]
    for (const draft of texts) {
      const sentences = answerTo(draft).reasoning.split(/[.?!]"?\s+(?=[A-Z])/)
      expect(sentences.length).toBeGreaterThanOrEqual(2)
      expect(sentences.length).toBeLessThanOrEqual(4)
    }
  })

  it('never name a disabled type', () => {
    const answer = answerTo(invented, new Set(['hallucinated_content']))
    expect([answer.errorType, ...answer.alternatives.map(({ errorType }) => errorType)]).not.toContain(
      'hallucinated_content',
    )
  })

  it('name the only enabled type, without alternatives', () => {
    const others = TAXONOMY.map(({ errorType }) => errorType).filter(type => type !== 'reviewer_mistake')
    expect(answerTo(invented, new Set(others))).toMatchObject({ errorType: 'reviewer_mistake', alternatives: [] })
  })

  it('fall back to the tie-breaking order if there is no evidence for any type', () => {
    const candidates = distributionOver([], NONE)
    expect(candidates.map(({ errorType }) => errorType)).toEqual(TIE_ORDER)
    expect(candidates[0]?.probability).toBeCloseTo(1 / TIE_ORDER.length)
  })

  it('blame no step for a request that no step could handle', () => {
    const prompt = aPrompt('You help with bills. Anything else: say that you cannot help.')
    const declined = { input: 'I want to appeal a fine', prompt, output: "I'm afraid I can't help with fines." }
    const feedback = [{ rating: 'negative', comment: 'I wanted to appeal.' }] as const
    expect(answerTo({ root: declined, feedback: [...feedback] })).toMatchObject({
      errorType: 'unsupported_request',
      spanId: null,
    })
  })

  it('say what they looked for, with confidences below 0.5, if no fact is decisive', () => {
    const answer = answerTo({ root: { output: { level: 'low' }, approved: { level: 'high' } } })
    expect(answer.confidence).toBeLessThan(0.5)
    for (const { confidence } of answer.alternatives) expect(confidence).toBeLessThan(0.5)
    expect(answer.reasoning).toMatch(
      /^The rules looked for a failed step, .*, and found none\..* So ".*" is only a guess\.$/,
    )
  })

  it('name only the facts that the trace lacks', () => {
    const prompt = aPrompt('Read.', { type: 'object', required: ['total'] })
    const unlikely = new Set(TIE_ORDER.filter(type => type !== 'ambiguous_request'))
    const { reasoning } = answerTo({ root: { output: { sum: 1 }, approved: { total: 1 }, prompt } }, unlikely)
    expect(reasoning).toMatch(/^The rules looked for a failed step/)
    expect(reasoning).not.toContain('a schema violation')
  })

  it('weigh each finding that the checks make, and name each fact', () => {
    for (const kind of FACTS.keys()) expect(FITTED.weights).toHaveProperty(kind)
  })

  it('report which parts of the trace were left out', () => {
    const subject = { ...aDisagreement(invented), omitted: ['9,600 of 10,000 spans (the farthest from the feedback)'] }
    expect(attributeByRules(subject, findEvidence(subject), NONE).reasoning).toContain('9,600 of 10,000 spans')
  })

  it('are deterministic', () => {
    expect(answerTo(invented)).toEqual(answerTo(invented))
  })

  it('never locate a type that the findings don’t support', () => {
    for (const [errorType, kinds] of Object.entries(LOCATING)) {
      for (const kind of kinds)
        expect({ kind, weight: Reflect.get(FITTED.weights[kind] ?? {}, errorType) > 0 }).toEqual({ kind, weight: true })
    }
  })
})
