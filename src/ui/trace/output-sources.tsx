import { Button, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { IconChevronDown, IconChevronRight } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { sourcesQuery } from '../sources/queries.ts'
import type { SourcedSpan } from '../sources/source-list.tsx'

const SourceList = lazy(async () => ({ default: (await import('../sources/source-list.tsx')).SourceList }))

interface OutputSourcesProps {
  span: SourcedSpan
  isOpen: boolean
  onToggle: () => void
}

/** What an output is based on. Loads when opened. */
export const OutputSources = ({ span, isOpen, onToggle }: OutputSourcesProps) => (
  <Stack gap="sm" align="start">
    <Button
      variant="subtle"
      size="compact-sm"
      aria-expanded={isOpen}
      leftSection={isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
      onClick={onToggle}
    >
      What this output is based on
    </Button>
    {isOpen && (
      <Stack gap="sm" w="100%">
        <Suspense fallback={<Blank />}>
          <Loaded span={span} />
        </Suspense>
      </Stack>
    )}
  </Stack>
)

function Loaded({ span }: Pick<OutputSourcesProps, 'span'>) {
  const { data, error, refetch } = useQuery(sourcesQuery(span.id))
  if (error) return <FaultAlert error={error} title="Couldn't load the sources" onRetry={refetch} />
  if (!data) return <Blank />
  const { chunks, docs, prompt } = data
  if (chunks.length + docs.length === 0 && !prompt) {
    return (
      <Text size="sm" c="dimmed">
        No retrieved chunks, knowledge docs, or prompt found for this step.
      </Text>
    )
  }
  return <SourceList span={span} sources={data} />
}

const Blank = () => <Skeleton h="6rem" aria-label="Loading sources" />
