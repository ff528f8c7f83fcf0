import { Stack, Text, Title } from '@mantine/core'
import type { ExperimentReport } from '../api/wire.ts'
import { count, counted, dollars, duration, usageDetails } from '../parts/format.ts'

/** The time, tokens, and cost that the candidate's runs reported. */
export function Effort({ report: { usage, cost, durationMs } }: { report: ExperimentReport }) {
  const facts = [
    durationMs.results > 0 &&
      `Time: p50 about ${duration(durationMs.p50)}, p95 about ${duration(durationMs.p95)}${of(durationMs.results)}`,
    usage && `Tokens: ${count(usage.totalTokens)} (${usageDetails(usage)})${of(usage.results)}`,
    cost && `Cost: ${dollars(cost.usd)}${of(cost.results)}`,
  ].filter(fact => typeof fact === 'string')
  return (
    <Stack component="section" gap={4} aria-label="Time and cost">
      <Title order={2}>Time and cost</Title>
      {facts.length === 0 && (
        <Text size="sm" c="dimmed">
          The results don't include durations, tokens, or costs.
        </Text>
      )}
      {facts.map(fact => (
        <Text key={fact} size="sm">
          {fact}
        </Text>
      ))}
    </Stack>
  )
}

const of = (results: number): string => ` across ${counted(results, 'result')}`
