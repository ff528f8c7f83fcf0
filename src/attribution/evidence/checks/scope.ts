import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { NO_TERMS, termsOfValue } from '../../text/terms.ts'
import { REFUSAL, SCOPE_LIMIT } from '../../text/vocabulary.ts'
import { guidelinesOf, sentencesOf, wordingOf } from '../guidelines.ts'
import type { Scene } from '../scene.ts'
import { quote, supportOf } from '../sources.ts'

/**
 * Checks whether the guideline limits the scope, whether the output declines, and whether the guideline asked it to.
 */
export function* checkScope(scene: Scene): Generator<Finding> {
  const { dispute, origin, prompts, sources } = scene
  if (!dispute) return
  const { output } = dispute.step
  const scope = sentencesOf(guidelinesOf(scene)).find(({ text }) => isFoundIn(text, SCOPE_LIMIT))
  const declining = wordingOf(output).find(text => isFoundIn(text, REFUSAL))
  const inScope = scope && { spanId: scope.spanId, path: scope.path }
  const inOutput = { spanId: origin.spanId, path: 'output' }
  const inPrompt = { spanId: origin.spanId, path: 'prompt' }
  if (scope && inScope)
    yield { kind: 'scope_limited', ...inScope, note: `limits the scope: ${quote(scope.text)}`, strength: 1 }
  if (declining !== undefined) {
    const wanted = supportOf(dispute.difference?.gained ?? NO_TERMS, sources)
    if (!scope && wanted.weight >= 1 && wanted.found < 0.6) {
      const note = `says that it doesn't know, and "${wanted.missing}" doesn't appear in any source`
      yield { kind: 'declined_for_lack_of_facts', ...inOutput, note, strength: 1 }
    }
    yield { kind: 'output_declines', ...inOutput, note: `declines: ${quote(declining)}`, strength: 1 }
    if (scope && inScope) {
      const note = `allows no other answer: ${quote(scope.text)}`
      yield { kind: 'declined_out_of_scope', ...inScope, note, strength: 1 }
    }
  }
  const { weight, found } = supportOf(termsOfValue(output), prompts)
  if (weight < 2 || prompts.length === 0) return
  if (declining !== undefined && found > 0.4) {
    const note = 'instructs the model to decline in the same words as the output'
    yield { kind: 'declines_as_instructed', ...inPrompt, note, strength: Math.min(1, found + 0.3) }
  }
  if (found > 0.5)
    yield {
      kind: 'output_follows_prompt',
      ...inPrompt,
      note: 'contains most of the words in the output',
      strength: found,
    }
}

function isFoundIn(text: string, pattern: RegExp): boolean {
  spend(3 * text.length)
  return pattern.test(text)
}
