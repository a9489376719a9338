import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** Asks what tools on JDBC ask: everything that the driver can tell of a database, and questions. */
class Metadata {
    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            String table = arguments[1];
            DatabaseMetaData known = connection.getMetaData();
            show("catalogs", known.getCatalogs());
            show("schemas", known.getSchemas());
            show("table types", known.getTableTypes());
            show("tables", known.getTables(null, "public", "%", null));
            show("columns", known.getColumns(null, "public", table, "%"));
            show("primary keys", known.getPrimaryKeys(null, "public", table));
            show("imported keys", known.getImportedKeys(null, "public", table));
            show("exported keys", known.getExportedKeys(null, "public", table));
            show("indexes", known.getIndexInfo(null, "public", table, false, false));
            show("types", known.getTypeInfo());
            show("functions", known.getFunctions(null, "public", "%"));
            show("procedures", known.getProcedures(null, "public", "%"));
            show("privileges", known.getTablePrivileges(null, "public", table));
            show("best row", known.getBestRowIdentifier(null, "public", table, 0, true));
            System.out.println("product: " + known.getDatabaseProductVersion());
            ask(connection, table);
        }
    }

    /** The driver prepares a statement on the server, and asks for binary, from the fifth time on. */
    private static void ask(Connection connection, String table) throws SQLException {
        String sql = "SELECT since, COUNT(*) AS n FROM " + table
            + " WHERE age >= ? AND sex = ? AND since = ? GROUP BY since";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int turn = 0; turn < 7; turn++) {
                statement.setInt(1, 30);
                statement.setString(2, "female");
                statement.setDate(3, Date.valueOf("2020-03-01"));
                show("asked", statement.executeQuery());
            }
        }
    }

    private static void show(String name, ResultSet found) throws SQLException {
        StringBuilder text = new StringBuilder(name + ":");
        int columns = found.getMetaData().getColumnCount();
        while (found.next()) {
            text.append(" [");
            for (int place = 1; place <= columns; place++) {
                text.append(place > 1 ? "|" : "").append(found.getString(place));
            }
            text.append("]");
        }
        System.out.println(text);
        found.close();
    }
}
