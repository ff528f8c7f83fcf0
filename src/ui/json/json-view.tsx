import { Button, Group, SegmentedControl, Text, UnstyledButton } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import type { Json } from '../api/wire.ts'
import { IconChevronDown, IconChevronRight } from '../icons/index.ts'
import { CopyIcon } from '../parts/copied-code.tsx'
import { count } from '../parts/format.ts'
import { FOLDED_STRING_LENGTH, type JsonRow, jsonRows, toggledToShow } from './json-rows.ts'
import classes from './json-view.module.css'
import { ShownText } from './shown-text.tsx'
import { VirtualLines } from './virtual-lines.tsx'

/** How much more of a long string each click shows. Browsers take seconds to lay out a megabyte. */
const MORE_LENGTH = 50_000

interface JsonViewProps {
  value: Json
  /** The accessible name. */
  label: string
  /** A dotted path to show and mark. */
  marked?: string | undefined
  /** A CSS length. */
  maxHeight?: string
}

type TreeProps = Required<Pick<JsonViewProps, 'value' | 'label' | 'maxHeight'>> & Pick<JsonViewProps, 'marked'>

/**
 * A JSON value for reading: strings show as text with line breaks; objects and arrays fold. Only the visible lines are
 * in the page, and nothing in the value is ever treated as HTML.
 */
export function JsonView({ value, label, marked, maxHeight = '60vh' }: JsonViewProps) {
  const [mode, setMode] = useState<'tree' | 'raw'>('tree')
  return (
    <div className={classes.view}>
      <Group justify="space-between" className={classes.bar} gap="xs" wrap="nowrap">
        <SegmentedControl
          size="xs"
          aria-label={`Format of ${label}`}
          value={mode}
          onChange={chosen => setMode(chosen === 'raw' ? 'raw' : 'tree')}
          data={[
            { value: 'tree', label: 'Readable' },
            { value: 'raw', label: 'JSON' },
          ]}
        />
        <CopyIcon text={() => JSON.stringify(value, undefined, 2)} label={`Copy ${label}`} />
      </Group>
      {mode === 'tree' ? (
        <JsonTree value={value} label={label} marked={marked} maxHeight={maxHeight} />
      ) : (
        <RawJson value={value} label={label} maxHeight={maxHeight} />
      )}
    </div>
  )
}

function JsonTree({ value, label, marked, maxHeight }: TreeProps) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(() => jsonRows(value, toggled), [value, toggled])
  useEffect(() => {
    if (marked !== undefined) setToggled(current => toggledToShow(value, marked, current))
  }, [marked, value])
  const markedIndex = marked === undefined ? -1 : rows.findIndex(({ path }) => path === marked)
  const toggle = (pointer: string) =>
    setToggled(current => {
      const next = new Set(current)
      if (!next.delete(pointer)) next.add(pointer)
      return next
    })
  return (
    <VirtualLines
      count={rows.length}
      keyOf={index => rows[index]?.pointer ?? index}
      label={label}
      maxHeight={maxHeight}
      marked={markedIndex}
    >
      {index => {
        const row = rows[index]
        return row && <Row row={row} onToggle={toggle} />
      }}
    </VirtualLines>
  )
}

function Row({ row, onToggle }: { row: JsonRow; onToggle: (pointer: string) => void }) {
  const { name, value, size, isOpen, pointer } = row
  const indent = { paddingInlineStart: `${row.depth * 14}px` }
  if (size === null) {
    return (
      <div className={classes.line} style={indent}>
        <span className={classes.fold} />
        {name !== null && <Name name={name} />}
        <Scalar value={value} />
      </div>
    )
  }
  const summary = Array.isArray(value) ? `[${size}]` : `{${size}}`
  return (
    <UnstyledButton
      className={classes.line}
      style={indent}
      onClick={() => onToggle(pointer)}
      aria-expanded={isOpen}
      aria-label={`${name ?? 'value'}, ${size} ${size === 1 ? 'entry' : 'entries'}`}
    >
      <span className={classes.fold}>
        {isOpen ? <IconChevronDown size={12} aria-hidden /> : <IconChevronRight size={12} aria-hidden />}
      </span>
      {name !== null && <Name name={name} />}
      <Text span inherit c="dimmed">
        {summary}
      </Text>
    </UnstyledButton>
  )
}

const Name = ({ name }: { name: string }) => (
  <span className={classes.name}>
    <ShownText text={name} />:
  </span>
)

function Scalar({ value }: { value: Json }) {
  const [length, setLength] = useState(FOLDED_STRING_LENGTH)
  if (typeof value !== 'string') return <span className={classes.literal}>{JSON.stringify(value)}</span>
  const left = value.length - length
  return (
    <span className={classes.string} dir="auto">
      {value === '' ? (
        <Text span inherit c="dimmed">
          empty string
        </Text>
      ) : (
        <ShownText text={left > 0 ? value.slice(0, length) : value} />
      )}
      {left > 0 && (
        <Button variant="subtle" size="compact-xs" onClick={() => setLength(length + MORE_LENGTH)}>
          … {count(left)} more {left === 1 ? 'character' : 'characters'}
        </Button>
      )}
    </span>
  )
}

/** A line, or as much of a long one as a browser lays out at once. */
const LINE = /.{1,2000}/gu

function RawJson({ value, label, maxHeight }: TreeProps) {
  const lines = useMemo(() => JSON.stringify(value, undefined, 2).match(LINE) ?? [], [value])
  return (
    <VirtualLines count={lines.length} keyOf={index => index} label={label} maxHeight={maxHeight}>
      {index => (
        <span className={classes.raw}>
          <ShownText text={lines[index] ?? ''} />
        </span>
      )}
    </VirtualLines>
  )
}
