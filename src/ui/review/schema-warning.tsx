import { List } from '@mantine/core'
import { ShownText } from '../json/shown-text.tsx'
import { Warning } from '../parts/warning.tsx'

interface Fault {
  path: string
  message: string
}

const MAX_SHOWN_FAULTS = 8

/** Warns, before the reviewer decides, that a value doesn't match its step's schema. */
export const SchemaWarning = ({ faults }: { faults: readonly Fault[] }) => (
  <Warning title="Doesn't match the schema">
    <FaultList faults={faults} />
  </Warning>
)

/** Places, and the error at each. */
export const FaultList = ({ faults }: { faults: readonly Fault[] }) => (
  <List size="sm" listStyleType="none">
    {faults.slice(0, MAX_SHOWN_FAULTS).map(({ path, message }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the list is only ever replaced, and one place may have two errors
      <List.Item key={index} style={{ overflowWrap: 'anywhere' }}>
        <code>
          <ShownText text={path} />
        </code>{' '}
        <ShownText text={message} />
      </List.Item>
    ))}
    {faults.length > MAX_SHOWN_FAULTS && <List.Item>… and {faults.length - MAX_SHOWN_FAULTS} more</List.Item>}
  </List>
)
