import * as v from 'valibot'
import { ACTORS, SCOPES } from '../domain/api-key.ts'
import { IsoTime, isoTime, Slug, text, Uuid } from '../http/atoms.ts'
import { MAX_NAME_LENGTH } from '../limits.ts'
import type { ApiKey as StoredKey } from '../store/accounts/api-keys.ts'
import type { ProjectRecord } from '../store/accounts/projects.ts'
import type { User as StoredUser } from '../store/accounts/users.ts'

export const Name = text(1, MAX_NAME_LENGTH)

export const Project = v.object({
  id: Uuid,
  slug: Slug,
  name: v.string(),
  retentionDays: v.nullable(v.number()),
  retainReviewed: v.boolean(),
  autoAttribute: v.boolean(),
  createdAt: IsoTime,
})

/** Who a key acts as. */
export const ActsAs = v.pipe(
  v.picklist(ACTORS),
  v.metadata({
    description:
      "Who uses the key. A person's decisions are ground truth. An agent's decisions are suggestions that a person decides on. A pipeline can't make decisions.",
  }),
)

export const ApiKey = v.object({
  id: Uuid,
  name: v.string(),
  prefix: v.pipe(v.string(), v.metadata({ description: "The key's first 8 characters" })),
  projectId: v.nullable(Uuid),
  userId: v.nullable(Uuid),
  scopes: v.array(v.picklist(SCOPES)),
  actsAs: ActsAs,
  rateLimitPerMinute: v.nullable(v.number()),
  expiresAt: v.nullable(IsoTime),
  revokedAt: v.nullable(IsoTime),
  replacedBy: v.pipe(
    v.nullable(Uuid),
    v.metadata({ description: "The key that replaced this one. Null if this key hasn't been rotated." }),
  ),
  createdAt: IsoTime,
})

/** A newly created key. Its secret is never shown again. */
export const ApiKeyWithSecret = v.object({
  ...ApiKey.entries,
  key: v.pipe(v.string(), v.metadata({ description: 'The secret, shown only once' })),
})

export const toProject = (project: ProjectRecord): v.InferOutput<typeof Project> => ({
  id: project.id,
  slug: project.slug,
  name: project.name,
  retentionDays: project.retentionDays,
  retainReviewed: project.retainReviewed,
  autoAttribute: project.autoAttribute,
  createdAt: isoTime(project.createdAt),
})

/** Whether a user settles disagreements between reviewers. */
export const Adjudicator = v.pipe(
  v.boolean(),
  v.metadata({
    description:
      'Whether the user settles disagreements between reviewers. Adjudicators see every review, even under a blind policy, and their decisions are final right away instead of counting as votes.',
  }),
)

export const User = v.object({
  id: Uuid,
  email: v.string(),
  name: v.string(),
  isConfirmed: v.pipe(
    v.boolean(),
    v.metadata({
      description:
        'Whether a manager created or confirmed the user. If false, the user is known only from feedback, cannot sign in through Cloudflare Access, and is deleted with their last record.',
    }),
  ),
  adjudicator: Adjudicator,
  createdAt: IsoTime,
})

export const toUser = (user: StoredUser): v.InferOutput<typeof User> => ({
  id: user.id,
  email: user.email,
  name: user.name,
  isConfirmed: user.isConfirmed,
  adjudicator: user.isAdjudicator,
  createdAt: isoTime(user.createdAt),
})

const isoTimeOrNull = (milliseconds: number | null) => (milliseconds === null ? null : isoTime(milliseconds))

export const toApiKey = (apiKey: StoredKey): v.InferOutput<typeof ApiKey> => ({
  id: apiKey.id,
  name: apiKey.name,
  prefix: apiKey.prefix,
  projectId: apiKey.projectId,
  userId: apiKey.userId,
  scopes: [...apiKey.scopes],
  actsAs: apiKey.actsAs,
  rateLimitPerMinute: apiKey.rateLimitPerMinute,
  expiresAt: isoTimeOrNull(apiKey.expiresAt),
  revokedAt: isoTimeOrNull(apiKey.revokedAt),
  replacedBy: apiKey.replacedBy,
  createdAt: isoTime(apiKey.createdAt),
})
