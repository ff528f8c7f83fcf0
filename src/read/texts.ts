import type { Caller } from '../auth/authenticate.ts'
import { requireFound } from '../auth/require-project.ts'
import { compareCodePoints } from '../domain/text.ts'
import type { TextKind } from '../domain/versioned-text.ts'
import { pageOf } from '../http/cursor.ts'
import { isForeignText } from '../store/accounts/ownership.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { listNearTexts } from '../store/texts/near-texts.ts'
import { listTexts } from '../store/texts/versioned-texts.ts'

/** The description of lists of active versions. */
export const FRESHNESS =
  'Each item includes its active version. Pipelines may get the version that was active up to 10 seconds ago, so a newly activated version is in use everywhere within 15 seconds. Requests with a session, with the `manage` scope, or with `x-d1-bookmark` always get the currently active version.'

/** A page of a project's prompts or knowledge docs, by name. */
export const pageOfTexts = (
  { store, mayUseMemory }: { store: Store; mayUseMemory: boolean },
  project: Project,
  kind: TextKind,
  query: { limit: number; cursor?: string | undefined; name: string | undefined },
) =>
  pageOf({
    list: [kind, store.organization.id, project.id],
    query,
    place: ['string'],
    read: async (limit, after) => {
      const page = { kind, name: query.name, limit, after: after?.[0] ?? '' }
      const { items, nextPlace } = await (mayUseMemory ? listNearTexts : listTexts)(store, project, page)
      // Pages are divided by stored name, so renaming a step doesn't move its prompt past a cursor.
      const byName = items.toSorted((left, right) => compareCodePoints(left.name, right.name))
      return { items: byName, nextPlace: nextPlace === null ? null : [nextPlace] }
    },
  })

/**
 * Returns the prompt or knowledge doc if the caller may see it. 404 if it doesn't exist, 403 if it belongs to another
 * organization or project.
 */
export const requireText = <Text extends { projectKey: number }>(
  { caller, store, unscoped }: { caller: Caller; store: Store; unscoped: UnscopedStore },
  named: { kind: TextKind; id: string },
  text: Text | undefined,
): Promise<Text> => requireFound(caller, text, () => isForeignText(unscoped, store.organization, named))
