import { type PropsWithChildren, type ReactNode, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { IconMenu2, IconSearch, IconUserCircle, IconX } from '../icons/index.ts'
import { isIn, type Section, sectionsFor } from './navigation.ts'

interface FrameProps {
  /** Chooses the project. */
  project?: ReactNode
  /** Opens the command palette. */
  command?: ReactNode
  account?: ReactNode
  sections?: readonly Section[]
  /** How much work is waiting in a section. */
  waitingIn?: (section: Section) => ReactNode
}

const SECTIONS_OF_ALL = sectionsFor({ isAdjudicator: false, mayCompare: false })

/**
 * The frame around every page: navigation, project, and account. The build writes it into each page's document, with
 * blanks in place of parts that need scripts, so it uses only the classes in frame.css.
 */
export function Frame({
  project = <div className="frame-project" />,
  command = (
    <div className="frame-command">
      <CommandLabel />
    </div>
  ),
  account = (
    <div className="frame-account">
      <AccountLabel />
    </div>
  ),
  sections = SECTIONS_OF_ALL,
  waitingIn,
  children = <PageSkeleton />,
}: PropsWithChildren<FrameProps>) {
  const [isOpen, setOpen] = useState(false)
  const [address] = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the menu
  useEffect(() => setOpen(false), [address])
  const Burger = isOpen ? IconX : IconMenu2
  return (
    <div className="frame">
      <a href="#page" className="frame-skip">
        Skip to content
      </a>
      <header className="frame-header">
        <button
          type="button"
          className="frame-burger"
          aria-label={isOpen ? 'Close menu' : 'Open menu'}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Burger size={22} aria-hidden />
        </button>
        <Brand />
      </header>
      <nav className="frame-sidebar" aria-label="Sections" data-open={isOpen || undefined}>
        <Brand />
        {project}
        {command}
        <div className="frame-sections">
          {sections.map(section => {
            const { path, label, Icon } = section
            return (
              <Link
                key={path}
                href={path}
                className="frame-section"
                aria-current={isIn(path, address) ? 'page' : undefined}
              >
                <Icon size={18} stroke={1.6} aria-hidden />
                {label}
                {waitingIn?.(section)}
              </Link>
            )
          })}
        </div>
        {account}
      </nav>
      <main id="page" tabIndex={-1} className="frame-page">
        {children}
      </main>
    </div>
  )
}

const Brand = () => (
  <div className="frame-brand">
    <img src="/icon.svg" alt="" width={22} height={22} />
    Countersign
  </div>
)

/** What the command palette's button shows. The build leaves out the keys, which depend on the reader's system. */
export const CommandLabel = ({ keys }: { keys?: string }) => (
  <>
    <IconSearch size={14} aria-hidden />
    Go to…{keys !== undefined && <kbd>{keys}</kbd>}
  </>
)

/** Who is signed in. */
export const AccountLabel = ({ name = 'Account', organization = '' }) => (
  <>
    <IconUserCircle size={20} stroke={1.6} aria-hidden />
    <span className="frame-names">
      <span>{name}</span>
      <span className="frame-organization">{organization}</span>
    </span>
  </>
)

/** A placeholder for a page. */
export const PageSkeleton = () => (
  <div aria-hidden>
    <div className="frame-waiting" style={{ width: 140, height: 31, marginBottom: 16 }} />
    <div className="frame-waiting" style={{ height: '60vh' }} />
  </div>
)
