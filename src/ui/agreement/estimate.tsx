import { Text } from '@mantine/core'
import type { Agreement } from '../api/wire.ts'
import { share } from '../parts/format.ts'
import classes from './agreement.module.css'

export type Estimate = Agreement['decision']['alpha']

/** With fewer outputs than this, a chance-corrected number says more about the sample than about the reviewers. */
export const FEW_OUTPUTS = 30

/** α or κ to two decimal places. */
export const beyondChance = (value: number): string => value.toFixed(2).replace('-', '−')

export const shareName = (value: number): string => share(value, 1)

interface EstimateBarProps {
  estimate: Estimate
  nameOf: (value: number) => string
}

/** A number from 0 to 1 as a dot, with its 95% interval as a bar and in words. */
export function EstimateBar({ estimate: { value, interval }, nameOf }: EstimateBarProps) {
  if (value === null) return null
  const place = (at: number) => `${100 * Math.min(1, Math.max(0, at))}%`
  return (
    <div>
      <div className={classes.track} aria-hidden="true">
        {interval && (
          <div
            className={classes.interval}
            style={{ insetInlineStart: place(interval.low), insetInlineEnd: place(1 - interval.high) }}
          />
        )}
        <div className={classes.dot} style={{ insetInlineStart: place(value) }} />
      </div>
      <Text size="xs" c="dimmed">
        {interval ? (
          <>
            95% interval: {nameOf(interval.low)} to {nameOf(interval.high)}
          </>
        ) : (
          "No interval: there are too few votes, or they're too similar"
        )}
      </Text>
    </div>
  )
}

/** Why there's no chance-corrected number. Undefined if there is one. */
export function whyNot({ value }: Estimate, outputs: number): string | undefined {
  if (outputs < FEW_OUTPUTS) return 'too few to tell'
  return value === null ? 'all votes are the same, so agreement beyond chance can’t be measured' : undefined
}
