import { Group, Stack, Text, Title } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import { JsonView } from '../json/json-view.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { Moment } from '../parts/moment.tsx'
import { useProject } from '../session/project.ts'
import { Acceptance } from './acceptance.tsx'
import { GateSection } from './gate-section.tsx'
import type { TextKind, Version, VersionedText } from './kinds.ts'
import { SuggestionSection } from './suggestion-section.tsx'
import { VersionActions } from './version-actions.tsx'
import { ActiveMark } from './version-list.tsx'
import classes from './version-view.module.css'
import { WatchSection } from './watch-section.tsx'

interface VersionViewProps {
  kind: TextKind
  text: VersionedText
  version: Version
}

/** One version. */
export function VersionView({ kind, text, version }: VersionViewProps) {
  const project = useProject()
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs" align="start">
        <div>
          <Group gap="xs">
            <Title order={2}>Version {version.number}</Title>
            {version.isActive && <ActiveMark />}
          </Group>
          <Text size="xs" c="dimmed">
            Created <Moment at={version.createdAt} />
          </Text>
        </div>
        <VersionActions kind={kind} text={text} version={version} />
      </Group>
      {version.note !== null && (
        <Text size="sm" dir="auto" className={classes.note}>
          <ShownText text={version.note} />
        </Text>
      )}
      {version.suggestedFor !== null && (
        <SuggestionSection text={text} versionId={version.id} problemId={version.suggestedFor} />
      )}
      {version.decided && (
        <Acceptance {...version.decided} pathOf={decision => decisionsOn(project, version, decision)} />
      )}
      {version.isActive && text.watch && <WatchSection promptId={text.id} watch={text.watch} />}
      {kind.hasSchema && <GateSection text={text} version={version} />}
      <section aria-label="Content" className={classes.box}>
        <Group justify="space-between" className={classes.bar} wrap="nowrap">
          <Title order={3}>Content</Title>
          <CopyIcon text={version.content} label="Copy content" />
        </Group>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
        <pre className={classes.content} dir="auto" tabIndex={0}>
          <ShownText text={version.content} />
        </pre>
      </section>
      {kind.hasSchema && (
        <Stack gap={6} component="section" aria-label="Output schema">
          <Title order={3}>Output schema</Title>
          {version.outputSchema === null ? (
            <Text size="sm" c="dimmed">
              No schema. Any output is allowed, and reviewers edit it as JSON.
            </Text>
          ) : (
            <JsonView value={version.outputSchema} label="the output schema" />
          )}
        </Stack>
      )}
      <Group gap={4}>
        <Text size="xs" c="dimmed" className={classes.id}>
          {kind.hasSchema ? 'prompt_version_id' : 'Version ID'} <code>{version.id}</code>
        </Text>
        <CopyIcon text={version.id} label="Copy version ID" />
      </Group>
    </Stack>
  )
}

/** The path to the decisions on a version's outputs. */
const decisionsOn = (project: string | undefined, { id }: Version, decision: string): string =>
  pathWith('/spans', { project, promptVersionId: id, decision })
