import { Alert, Anchor, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { Fault } from '../api/client.ts'
import { loadCode } from '../code/index.tsx'
import { IconPlus } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { withParameters } from '../parts/parameters.ts'
import { MissingScope, useMay } from '../parts/scopes.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { Comparison } from './comparison.tsx'
import { DeleteText } from './delete-text.tsx'
import { EditTitle } from './edit-title.tsx'
import type { TextKind, VersionedText } from './kinds.ts'
import { NewVersionForm } from './new-version-form.tsx'
import { textQuery } from './queries.ts'
import classes from './text-page.module.css'
import { VersionList } from './version-list.tsx'
import { VersionView } from './version-view.tsx'

/** A text with its versions: one version, a comparison of two, or the form for a new one. */
export function TextPage({ kind, id }: { kind: TextKind; id: string }) {
  const { data: text, error, refetch } = useQuery(textQuery(kind, id))
  usePageTitle(text ? (text.title ?? text.name) : kind.many)
  const mayManage = useMay('manage')
  const [parameters, setParameters] = useSearchParams()
  const isNew = parameters.has('new') && mayManage !== false
  return (
    <Stack gap="sm">
      <div>
        <Anchor component={Link} href={kind.path} size="sm">
          {kind.many}
        </Anchor>
        <Group justify="space-between" align="start">
          <Heading kind={kind} text={text} />
          {mayManage && text && (
            <Group gap="xs">
              <Button
                size="xs"
                disabled={isNew}
                leftSection={<IconPlus size={14} aria-hidden />}
                onPointerEnter={loadCode}
                onClick={() => setParameters(withParameters({ new: '1', compare: null }))}
              >
                New version
              </Button>
              {kind.hasTitle && <EditTitle kind={kind} text={text} />}
              <DeleteText kind={kind} text={text} />
            </Group>
          )}
        </Group>
      </div>
      {mayManage === false && (
        <MissingScope scope="manage">You can view this {kind.one} but not change it</MissingScope>
      )}
      {error && !text && (
        <FaultAlert
          error={error}
          title={
            error instanceof Fault && error.status === 404
              ? `This ${kind.one} doesn't exist`
              : `Couldn't load this ${kind.one}`
          }
          onRetry={refetch}
        />
      )}
      {!error && !text && <Expected />}
      {text && (
        <div className={classes.columns}>
          <VersionList kind={kind} text={text} chosen={isNew ? null : chosenOf(text, parameters.get('version'))} />
          <div className={classes.main}>
            <Chosen kind={kind} text={text} isNew={isNew} />
          </div>
        </div>
      )}
    </Stack>
  )
}

function Heading({ kind, text }: { kind: TextKind; text: VersionedText | undefined }) {
  if (!text) {
    return (
      <Title order={1} className={classes.heading}>
        {kind.one.charAt(0).toUpperCase() + kind.one.slice(1)}
      </Title>
    )
  }
  return (
    <div className={classes.heading}>
      <Title order={1} dir="auto">
        <ShownText text={text.title ?? text.name} />
      </Title>
      {text.title !== null && (
        <Text size="sm" c="dimmed" ff="monospace">
          {text.name}
        </Text>
      )}
    </div>
  )
}

function Chosen({ kind, text, isNew }: { kind: TextKind; text: VersionedText; isNew: boolean }) {
  const [parameters] = useSearchParams()
  const named = parameters.get('version')
  const chosen = chosenOf(text, named)
  const other = text.versions.find(({ id }) => id === parameters.get('compare') && id !== chosen?.id)
  if (isNew) return <NewVersionForm kind={kind} text={text} />
  if (!chosen) return null
  return (
    <Stack gap="sm">
      {named !== null && named !== chosen.id && (
        <Alert variant="default" title="Version not found">
          This {kind.one} doesn't have the linked version. Showing the active version instead.
        </Alert>
      )}
      {other ? (
        <Comparison kind={kind} text={text} before={other} after={chosen} />
      ) : (
        <VersionView kind={kind} text={text} version={chosen} />
      )}
    </Stack>
  )
}

/** The version in the URL, or else the active one. */
const chosenOf = ({ versions }: VersionedText, named: string | null) =>
  versions.find(({ id }) => id === named) ?? versions.find(({ isActive }) => isActive) ?? versions[0]

const Expected = () => (
  <div className={classes.columns}>
    <Stack gap="xs">
      <Skeleton h={72} />
      <Skeleton h={72} />
    </Stack>
    <Skeleton h={320} />
  </div>
)
