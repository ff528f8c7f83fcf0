import { describe, it } from 'vitest'
import { findBuiltIn, TAXONOMY, TIE_ORDER } from '../../src/attribution/taxonomy.ts'
import { stored } from '../support/database.ts'

describe('the taxonomy', () => {
  it('matches the rows that the migration seeds, in the same order', async ({ expect }) => {
    const { results } = await stored
      .prepare('select error_type as errorType, id, name, category, rule from error_types order by rowid')
      .all()
    expect(results).toEqual(TAXONOMY)
    expect(TAXONOMY).toHaveLength(18)
  })

  it('ranks every type to break ties', ({ expect }) => {
    expect(TIE_ORDER).toEqual([
      'system_failure',
      'output_format_violation',
      'missing_input_information',
      'incorrect_input_data',
      'outdated_reference',
      'reviewer_mistake',
      'ambiguous_request',
      'unsupported_request',
      'acceptable_variation',
      'ambiguous_guideline',
      'instruction_noncompliance',
      'task_misunderstanding',
      'hallucinated_content',
      'retrieval_failure',
      'context_misinterpretation',
      'reasoning_error',
      'tool_invocation_error',
      'incomplete_output',
    ])
  })

  it('finds built-in types by name, and nothing else', ({ expect }) => {
    expect(findBuiltIn('system_failure')).toMatchObject({ name: 'System failure', category: 'AI Error' })
    expect(findBuiltIn('constructor')).toBeUndefined()
  })
})
