import type { Span } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { counted, dollars, usageDetails } from '../parts/format.ts'

type ModelUseProps = Pick<Span, 'usage' | 'costUsd'> & Partial<Pick<Span, 'model' | 'provider'>>

/** A span's model, tokens, and cost, or a trace's totals. Unknown values are left out. */
export const ModelUse = ({ model, provider, usage, costUsd }: ModelUseProps) => (
  <>
    {model && (
      <span title={provider ?? undefined} dir="auto">
        <ShownText text={model} />
      </span>
    )}
    {usage && <span title={usageDetails(usage)}>{counted(usage.totalTokens, 'token')}</span>}
    {costUsd !== null && <span>{dollars(costUsd)}</span>}
  </>
)
