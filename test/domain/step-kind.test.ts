import { describe, it } from 'vitest'
import { reviewabilityOf, STEP_KINDS } from '../../src/domain/step-kind.ts'

describe('a step from telemetry', () => {
  it.for([
    ['always', ['llm', 'tool', 'agent']],
    ['as_root', ['retriever', 'reranker', 'chain', 'workflow', 'task', 'prompt', 'guardrail', 'evaluator']],
    ['never', ['embedding', 'generic']],
  ] as const)('is reviewed %s if its kind is one of %s', ([reviewability, kinds], { expect }) => {
    expect(STEP_KINDS.filter(kind => reviewabilityOf(kind, false) === reviewability).sort()).toEqual([...kinds].sort())
  })

  it('is always reviewed if the pipeline names it', ({ expect }) => {
    for (const kind of STEP_KINDS) expect(reviewabilityOf(kind, true)).toBe('always')
  })
})
