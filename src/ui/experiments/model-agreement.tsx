import { Text } from '@mantine/core'
import { Fragment } from 'react'
import type { ModelAgreement as Agreement } from '../api/wire.ts'
import { Counted } from '../parts/counted.tsx'
import { count, itemCount, share } from '../parts/format.ts'
import { intervalOf } from './pass-rate.ts'

const CELLS = [
  { cell: 'sameAccepted', label: 'same and accepted', judgment: 'same', decision: 'accept' },
  { cell: 'differentRejected', label: 'different and rejected', judgment: 'different', decision: 'reject' },
  { cell: 'sameRejected', label: 'same but rejected', judgment: 'same', decision: 'reject' },
  { cell: 'differentAccepted', label: 'different but accepted', judgment: 'different', decision: 'accept' },
] as const

interface ModelAgreementProps {
  agreement: Agreement
  /** The path to the outputs that have a given judgment by the model and a given decision by a person. */
  pathTo: (filter: { judgment: string; decision: string }) => string
}

/** How often a model agrees with people, with links to the outputs. Renders nothing if no output was judged by both. */
export function ModelAgreement({ agreement, pathTo }: ModelAgreementProps) {
  const { agreed, of } = agreement
  if (of === 0) return null
  return (
    <Text size="sm">
      The model agrees with people on <b>{share(agreed, of)}</b> of {itemCount(of)} ({intervalOf(agreement)}, 95%
      interval). The model's judgment and the person's decision:{' '}
      {CELLS.map(({ cell, label, judgment, decision }, index) => (
        <Fragment key={cell}>
          {index > 0 && ', '}
          <Counted
            value={agreement[cell]}
            path={pathTo({ judgment, decision })}
            label={`${count(agreement[cell])} ${label}`}
          />{' '}
          {label}
        </Fragment>
      ))}
      .
    </Text>
  )
}
