import { Button, Group, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import type { SpanOfTrace } from '../api/wire.ts'
import { IconPencil } from '../icons/index.ts'
import { ScrollBox } from '../json/scroll-box.tsx'
import { ReadableText } from '../markdown/index.tsx'
import { useMay } from '../parts/scopes.tsx'
import { useProjectId } from '../session/project.ts'
import { sourcesQuery } from '../sources/queries.ts'
import classes from '../sources/sources.module.css'
import { saveGuideline } from './queries.ts'

const GuidelineForm = lazy(async () => ({ default: (await import('./guideline-form.tsx')).GuidelineForm }))

/** What reviewers should know to judge the step's outputs. Managers can change it. */
export function Guideline({ span }: { span: SpanOfTrace }) {
  const { data } = useQuery(sourcesQuery(span.id))
  const mayManage = useMay('manage')
  const projectId = useProjectId()
  const [isEditing, { open, close }] = useDisclosure()
  const text = data?.guideline?.text ?? ''
  if (!data || (text === '' && !mayManage)) return null
  return (
    <section aria-label="Guideline">
      <Group justify="space-between" mb={4} gap="xs">
        <Title order={3}>Guideline</Title>
        {mayManage && (
          <Button size="compact-xs" variant="subtle" leftSection={<IconPencil size={12} aria-hidden />} onClick={open}>
            {text === '' ? 'Add guideline' : 'Edit guideline'}
          </Button>
        )}
      </Group>
      {text === '' ? (
        <Text size="sm" c="dimmed">
          No guideline yet. A guideline tells reviewers what counts as correct.
        </Text>
      ) : (
        <div className={classes.chunk}>
          <ScrollBox label="the guideline" maxHeight="12rem" length={text.length} className={classes.text}>
            <ReadableText text={text} />
          </ScrollBox>
        </div>
      )}
      {isEditing && projectId !== undefined && (
        <Suspense>
          <GuidelineForm text={text} save={draft => saveGuideline(projectId, span, draft)} onClose={close} />
        </Suspense>
      )}
    </section>
  )
}
