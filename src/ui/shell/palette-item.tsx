import { Spotlight } from '@mantine/spotlight'
import type { PropsWithChildren } from 'react'
import type { IconSearch } from '../icons/index.ts'
import { FoundText } from '../parts/found-text.tsx'
import classes from './palette-item.module.css'

export interface PaletteItemProps {
  Icon: typeof IconSearch
  label: string
  description?: string | null | undefined
  /** The text to mark in the label and the description. */
  sought?: string
  onOpen: () => void
  /** Whether the palette stays open after a click, because the item only finds more items. */
  staysOpen?: boolean
}

/** An item of the command palette. */
export const PaletteItem = ({ Icon, label, description, sought = '', onOpen, staysOpen = false }: PaletteItemProps) => (
  <Spotlight.Action onClick={onOpen} closeSpotlightOnTrigger={!staysOpen}>
    <Icon size={20} stroke={1.6} className={classes.icon} aria-hidden />
    <span className={classes.body}>
      <span className={classes.label} dir="auto">
        <FoundText text={label} sought={sought} />
      </span>
      {description && (
        <span className={classes.description} dir="auto">
          <FoundText text={description} sought={sought} />
        </span>
      )}
    </span>
  </Spotlight.Action>
)

/** Items under a heading. */
export const PaletteGroup = ({ label, children }: PropsWithChildren<{ label: string }>) => (
  <Spotlight.ActionsGroup label={label} role="group" aria-label={label}>
    {children}
  </Spotlight.ActionsGroup>
)
