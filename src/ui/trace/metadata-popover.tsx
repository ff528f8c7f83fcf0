import { Popover, UnstyledButton } from '@mantine/core'
import type { Json } from '../api/wire.ts'
import { JsonView } from '../json/json-view.tsx'
import classes from './trace-header.module.css'

/** The button that shows a trace's metadata, and the popover that it opens. The popover starts out open. */
export const MetadataPopover = ({ metadata }: { metadata: Json }) => (
  <Popover width={420} position="bottom-start" withinPortal trapFocus defaultOpened>
    <Popover.Target>
      <UnstyledButton className={classes.all}>All metadata</UnstyledButton>
    </Popover.Target>
    <Popover.Dropdown p="xs" maw="92vw" aria-label="Metadata">
      <JsonView value={metadata} label="the trace's metadata" maxHeight="50vh" />
    </Popover.Dropdown>
  </Popover>
)
