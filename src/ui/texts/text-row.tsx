import { Link } from 'wouter'
import { ShownText } from '../json/shown-text.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import type { TextItem, TextKind } from './kinds.ts'
import classes from './texts-page.module.css'

const BEGINNING_LENGTH = 400

/** A text in its list: its name, the start of its active version, and when that version was written. */
export const TextRow = ({ kind, item }: { kind: TextKind; item: TextItem }) => (
  <li className={classes.row}>
    <Link href={`${kind.path}/${item.id}`} className={classes.link ?? ''}>
      <span>
        <span className={classes.name} dir="auto">
          <ShownText text={item.name} />
        </span>
        {item.title !== null && (
          <span className={classes.title} dir="auto">
            <br />
            <ShownText text={item.title} />
          </span>
        )}
      </span>
      <span className={classes.beginning} dir="auto">
        <ShownText text={item.content.slice(0, BEGINNING_LENGTH)} />
      </span>
      <span className={classes.since}>
        v{count(item.versionNumber)} is live, created <Moment at={item.versionCreatedAt} />
      </span>
    </Link>
  </li>
)
