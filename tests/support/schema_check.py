#!/usr/bin/env python3
"""schema_check.py SCHEMA FILE...: are these JSON documents what the schema says?

A FILE that ends in .jsonl is JSON lines: each is a document.

Knows the part of JSON Schema 2020-12 that the project's schemas use, and refuses the rest, so that it needs
nothing but Python. Prints each fault as `FILE: path: what` and ends with 1 if there is one.
"""
import json
import re
import sys

TYPES = {
    'object': lambda v: isinstance(v, dict),
    'array': lambda v: isinstance(v, list),
    'string': lambda v: isinstance(v, str),
    'boolean': lambda v: isinstance(v, bool),
    'null': lambda v: v is None,
    'integer': lambda v: isinstance(v, int) and not isinstance(v, bool),
    'number': lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
KNOWN = {'$schema', '$defs', '$ref', 'title', 'description', 'type', 'properties', 'required',
         'additionalProperties', 'items', 'enum', 'pattern', 'minimum', 'maximum', 'minItems', 'maxItems', 'anyOf'}


def faults(schema, value, root, path):
    unknown = set(schema) - KNOWN
    if unknown:
        sys.exit('schema_check.py does not know ' + ', '.join(sorted(unknown)))
    if '$ref' in schema:
        yield from faults(root['$defs'][schema['$ref'].removeprefix('#/$defs/')], value, root, path)
    if 'anyOf' in schema:
        tries = [list(faults(s, value, root, path)) for s in schema['anyOf']]
        if all(tries):
            yield from min(tries, key=len)
    types = schema.get('type', [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[t](value) for t in types):
        yield path, 'is %s, not %s' % (json.dumps(value)[:60], ' or '.join(types))
        return
    if 'enum' in schema and value not in schema['enum']:
        yield path, 'is %s, none of %s' % (json.dumps(value)[:60], schema['enum'])
    if isinstance(value, str) and 'pattern' in schema and not re.search(schema['pattern'], value):
        yield path, '%s does not match %s' % (json.dumps(value)[:60], schema['pattern'])
    if TYPES['number'](value) and value < schema.get('minimum', value):
        yield path, '%s is below %s' % (value, schema['minimum'])
    if TYPES['number'](value) and value > schema.get('maximum', value):
        yield path, '%s is above %s' % (value, schema['maximum'])
    if isinstance(value, list):
        if not schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', len(value)):
            yield path, 'has %d items' % len(value)
        for i, item in enumerate(value):
            yield from faults(schema.get('items', {}), item, root, '%s[%d]' % (path, i))
    if isinstance(value, dict):
        properties = schema.get('properties', {})
        for key in schema.get('required', []):
            if key not in value:
                yield path, 'lacks ' + key
        for key, item in value.items():
            if key in properties:
                yield from faults(properties[key], item, root, path + '.' + key)
            elif schema.get('additionalProperties') is False:
                yield path, 'has %s, which the schema does not know' % key


def main(schema_path, *paths):
    with open(schema_path) as f:
        schema = json.load(f)
    bad = False
    for path in paths:
        with open(path) as f:
            documents = [json.loads(line) for line in f] if path.endswith('.jsonl') else [json.load(f)]
        for i, document in enumerate(documents):
            name = '%s:%d' % (path, i + 1) if path.endswith('.jsonl') else path
            for where, what in faults(schema, document, schema, '$'):
                print('%s: %s: %s' % (name, where, what))
                bad = True
    return bad


sys.exit(main(*sys.argv[1:]))
