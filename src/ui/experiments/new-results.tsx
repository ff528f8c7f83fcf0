import { Button, Group, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { ExperimentReport } from '../api/wire.ts'

interface NewResultsProps {
  report: ExperimentReport
  isEmpty: boolean
  onShow: () => unknown
}

/**
 * Reloads items once results or a model's judgments have arrived: immediately if no items are shown, otherwise on
 * request, so that no item moves.
 */
export function NewResults({ report: { state, lastResultAt, judging }, isEmpty, onShow }: NewResultsProps) {
  const { job } = judging
  const latest = `${state} ${lastResultAt} ${job === null || job.status === 'pending' ? '' : job.requestedAt}`
  const [shown, setShown] = useState(latest)
  useEffect(() => {
    if (latest === shown || !isEmpty) return
    setShown(latest)
    onShow()
  }, [latest, shown, isEmpty, onShow])
  if (latest === shown) return null
  const show = () => {
    setShown(latest)
    onShow()
  }
  return (
    <Group gap="xs">
      <Text size="sm" role="status">
        New results or judgments have arrived.
      </Text>
      <Button size="compact-xs" variant="light" onClick={show}>
        Show them
      </Button>
    </Group>
  )
}
