import { Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { IconBook2, IconPencil } from '../icons/index.ts'
import { ReadableText } from '../markdown/index.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { LateModal } from '../parts/late-modal.tsx'
import { useMay } from '../parts/scopes.tsx'
import { useProjectId } from '../session/project.ts'
import { guidelineQuery, saveGuideline } from './queries.ts'

const GuidelineForm = lazy(async () => ({ default: (await import('../review/guideline-form.tsx')).GuidelineForm }))

/** Shows a step's guideline, which managers can change. */
export function GuidelineButton({ stepId }: { stepId: string }) {
  const projectId = useProjectId()
  const [isOpen, { open, close }] = useDisclosure()
  if (projectId === undefined) return null
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        leftSection={<IconBook2 size={12} aria-hidden />}
        aria-label={`Guideline for ${stepId}`}
        onClick={open}
      >
        Guideline
      </Button>
      <LateModal
        opened={isOpen}
        onClose={close}
        title={`Guideline for ${stepId}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {isOpen && <ShownGuideline projectId={projectId} stepId={stepId} />}
      </LateModal>
    </>
  )
}

function ShownGuideline({ projectId, stepId }: { projectId: string; stepId: string }) {
  const { data, error, refetch } = useQuery(guidelineQuery(projectId, stepId))
  const mayManage = useMay('manage')
  const [isEditing, setEditing] = useState(false)
  if (error) return <FaultAlert error={error} title="Couldn't load the guideline" onRetry={refetch} />
  if (!data) return <Skeleton h={120} />
  return (
    <Stack gap="sm">
      {data.text === '' ? (
        <Text size="sm">No guideline yet. A guideline tells reviewers what counts as correct.</Text>
      ) : (
        <div>
          <ReadableText text={data.text} />
        </div>
      )}
      {mayManage && (
        <Group justify="end">
          <Button leftSection={<IconPencil size={14} aria-hidden />} onClick={() => setEditing(true)}>
            {data.text === '' ? 'Add guideline' : 'Edit guideline'}
          </Button>
        </Group>
      )}
      {isEditing && (
        <Suspense>
          <GuidelineForm
            text={data.text}
            save={text => saveGuideline(projectId, stepId, text)}
            onClose={() => setEditing(false)}
          />
        </Suspense>
      )}
    </Stack>
  )
}
