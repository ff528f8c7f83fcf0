import { Text, UnstyledButton } from '@mantine/core'
import { useEffect, useId, useRef } from 'react'
import type { ExperimentItem, ExperimentReport } from '../api/wire.ts'
import { IconChevronDown, IconChevronRight } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Decide } from './decide.tsx'
import { ItemJudgment } from './item-judgment.tsx'
import { ItemValues } from './item-values.tsx'
import classes from './items.module.css'
import { ChangeMark, JudgmentMark, OutcomeMark } from './marks.tsx'
import { useDecides } from './who-decides.tsx'

interface ItemProps {
  report: ExperimentReport
  item: ExperimentItem
  isOpen: boolean
  /** The name of the person who decided on the item. */
  reviewer: string | null | undefined
  onToggle: () => void
  onDecided: () => void
}

const PREVIEW_LENGTH = 160

/** One item: a line, and its values if it's open. */
export function Item({ report, item, isOpen, reviewer, onToggle, onDecided }: ItemProps) {
  const id = useId()
  const line = useRef<HTMLLIElement>(null)
  const wasOpen = useRef(isOpen)
  const decides = useDecides()
  useEffect(() => {
    if (isOpen && !wasOpen.current) line.current?.scrollIntoView({ block: 'start' })
    wasOpen.current = isOpen
  }, [isOpen])
  const Chevron = isOpen ? IconChevronDown : IconChevronRight
  return (
    <li ref={line} className={classes.item} data-open={isOpen || undefined}>
      <UnstyledButton className={classes.line} aria-expanded={isOpen} aria-controls={id} onClick={onToggle}>
        <Chevron size={16} aria-hidden className={classes.chevron} />
        <OutcomeMark outcome={item.outcome} />
        <ChangeMark change={item.change} />
        <JudgmentMark judgment={item.judgment} />
        <Text size="sm" truncate component="span" flex={1} dir="auto">
          <ShownText text={previewOf(item)} />
        </Text>
      </UnstyledButton>
      <div id={id} hidden={!isOpen}>
        {isOpen && (
          <div className={classes.body}>
            <ItemValues item={item} />
            {item.error !== null && (
              <Text size="sm">
                Error: <ShownText text={item.error} />
              </Text>
            )}
            <ItemJudgment item={item} />
            {decides && <Decide report={report} item={item} reviewer={reviewer} onDecided={onDecided} />}
          </div>
        )}
      </div>
    </li>
  )
}

function previewOf({ input }: ExperimentItem): string {
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  return text.slice(0, PREVIEW_LENGTH)
}
