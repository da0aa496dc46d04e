"""Check SARIF files by what PyPI has from the standard's JSON schema: pydantic_sarif, its classes generated from it, which check every
type, pattern and enumeration; and sarif_om, its object model: every object is closed but property bags, and has what the schema requires.

    sarif.py FILE...

Exit code 77: neither is there."""
import json
import sys

try:
    from pydantic_sarif import model
except ImportError:
    pass
else:
    for path in sys.argv[1:]:
        with open(path, encoding='utf-8') as file:
            model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(json.load(file))
    print(f'{len(sys.argv) - 1} files are SARIF 2.1.0 by its schema')
try:
    import attr
    import sarif_om
except ImportError:
    if 'pydantic_sarif' in sys.modules:
        sys.exit(0)
    print('neither pydantic_sarif nor sarif_om is installed: SARIF files are not checked')
    sys.exit(77)

# property: the class of its value, or of the members of its list
CLASSES = {'runs': 'Run', 'tool': 'Tool', 'driver': 'ToolComponent', 'rules': 'ReportingDescriptor', 'results': 'Result',
           'shortDescription': 'MultiformatMessageString', 'fullDescription': 'MultiformatMessageString', 'help': 'MultiformatMessageString',
           'message': 'Message', 'defaultConfiguration': 'ReportingConfiguration', 'locations': 'Location',
           'physicalLocation': 'PhysicalLocation', 'logicalLocations': 'LogicalLocation', 'artifactLocation': 'ArtifactLocation'}
LEVELS = {'none', 'note', 'warning', 'error'}


def check(thing, name, where):
    fields = {field.metadata['schema_property_name']: field for field in attr.fields(getattr(sarif_om, name))}
    assert isinstance(thing, dict), where
    assert set(thing) <= set(fields), f'{where}: {set(thing) - set(fields)} are no properties of {name}'
    missing = [key for key, field in fields.items() if field.default is attr.NOTHING and key not in thing]
    assert not missing, f'{where}: {name} without {missing}'
    for key, value in thing.items():
        members = value if isinstance(value, list) else [value]
        if key in CLASSES:
            assert isinstance(value, list) == key.endswith('s'), f'{where}.{key}'
            for i, member in enumerate(members):
                check(member, CLASSES[key], f'{where}.{key}[{i}]')
        elif key == 'properties':
            assert isinstance(value, dict), f'{where}.{key}'
        elif key == 'ruleIndex':
            assert isinstance(value, int) and value >= -1, f'{where}.{key}'
        else:
            assert isinstance(value, str), f'{where}.{key} is of an unexpected kind'
        assert key != 'level' or value in LEVELS, f'{where}.{key}'


for path in sys.argv[1:]:
    with open(path, encoding='utf-8') as file:
        log = json.load(file)
    assert log['version'] == '2.1.0'
    check(log, 'SarifLog', path)
print(f'{len(sys.argv) - 1} files are SARIF 2.1.0')
