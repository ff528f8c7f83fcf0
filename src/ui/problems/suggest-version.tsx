import { Button, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { pathWith } from '../api/client.ts'
import { IconRobot } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { useProject } from '../session/project.ts'
import { PROMPTS } from '../texts/kinds.ts'
import { latestSuggestionQuery, requestSuggestion } from '../texts/suggestion-queries.ts'
import { refreshTexts } from '../texts/writes.ts'

interface SuggestVersionProps {
  problemId: string
  variant?: 'filled' | 'default'
  /** Called once the version is added and linked. */
  onAdded: () => unknown
}

/** Asks a model for a version of the step's prompt, and shows the progress until it's ready. */
export function SuggestVersion({ problemId, variant = 'default', onAdded }: SuggestVersionProps) {
  const project = useProject()
  const [isAsked, setAsked] = useState(false)
  const { submit, isPending, error } = useSubmission({
    send: () => requestSuggestion(problemId),
    onDone: () => setAsked(true),
  })
  const { data, error: failure } = useQuery({ ...latestSuggestionQuery(problemId), enabled: isAsked, retry: false })
  const isWriting = isAsked && !failure && data !== undefined && 'status' in data
  const added = isAsked && data && !('status' in data) ? data : undefined
  useEffect(() => {
    if (!added) return
    void refreshTexts(PROMPTS, added.promptId)
    onAdded()
  }, [added, onAdded])
  const fault = error ?? (isAsked ? failure : null)
  return (
    <Stack gap={6} align="start">
      <Button
        size="compact-sm"
        variant={variant}
        leftSection={<IconRobot size={14} aria-hidden />}
        loading={isPending || isWriting}
        onClick={() => submit(undefined)}
      >
        Suggest a version
      </Button>
      <Text size="sm" component="div" role="status">
        {isWriting && data && 'status' in data && (
          <>
            A model is writing a version based on this problem's corrections.
            {data.waitsUntil !== undefined && (
              <>
                {' '}
                It will continue on <Moment at={data.waitsUntil} />.
              </>
            )}
          </>
        )}
        {added && (
          <>
            A model wrote{' '}
            <TextLink
              href={pathWith(`/prompts/${added.promptId}`, { project, version: added.versionId })}
              underline="always"
            >
              version {added.number}
            </TextLink>
            . Read its changes before you activate it.
          </>
        )}
      </Text>
      {fault && <FaultAlert error={fault} title="Couldn't suggest a version" />}
    </Stack>
  )
}
