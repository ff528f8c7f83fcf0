import { sql } from 'drizzle-orm'
import { MAX_SCANNED_CASES } from '../../limits.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { findHeads, type ItemHead } from '../datasets/items.ts'
import { problemCases } from '../schema/problems.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import type { FoundProblem } from './problem-ids.ts'

/**
 * Lists a problem's newest corrections in one split of their datasets, without their values, which `readItems` reads.
 * Leaves out excluded and stale items. Looks at the newest `MAX_SCANNED_CASES` cases.
 */
export async function listCases(
  store: Store,
  problem: FoundProblem,
  { split, limit }: { split: string; limit: number },
): Promise<ItemHead[]> {
  const { projectKey, stepId, errorType, docSlug } = problem
  const corrected = await store.database.all<{ spanId: string; stepId: string }>(sql`
    select decided.span_id as spanId, decided.step_id as stepId
    from (
      select ${problemCases.traceKey} as trace_key, ${problemCases.spanId} as span_id, ${problemCases.at} as at
      from ${problemCases}
      where ${problemCases.projectKey} = ${projectKey} and ${isStep(projectKey, problemCases.stepId, stepId)}
        and ${problemCases.errorType} = ${errorType} and ${problemCases.docSlug} = ${docSlug}
      order by ${problemCases.at} desc limit ${MAX_SCANNED_CASES}) as scanned
    cross join ${traces} cross join ${spans} as own cross join ${reviews} as decided
    where ${traces.key} = scanned.trace_key and ${traces.organizationKey} = ${store.organization.key}
      and ${traces.deletedAt} is null and own.id = scanned.span_id and own.trace_key = scanned.trace_key
      and own.review_state = 'corrected' and decided.trace_key = own.trace_key and decided.span_id = own.id
      and decided.number = own.review_number and decided.step_id is not null
    order by scanned.at desc`)
  const heads = new Map<string, ItemHead>()
  for (const [stepId, cases] of Map.groupBy(corrected, ({ stepId }) => stepId)) {
    const ids = cases.map(({ spanId }) => spanId)
    const part = { stepId, sequence: Number.MAX_SAFE_INTEGER }
    for (const [id, head] of await findHeads(store, { projectKey }, [part], ids)) heads.set(id, head)
  }
  return corrected
    .flatMap(({ spanId }) => heads.get(spanId) ?? [])
    .filter(head => head.decision === 'correct' && head.split === split && !head.isExcluded && !head.isStaleNow)
    .slice(0, limit)
}
